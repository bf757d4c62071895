import { CancellationScope, condition, workflowInfo } from '@temporalio/workflow';

/** Histories are kept far below Temporal's limits of 51,200 events and 50 MB: a worker that takes a workflow over reads all of it. */
const mostEvents = 4000;
const mostBytes = 4 * 1024 * 1024;
/** What was begun is waited for up to here; then it is given up, for its signals alone would fill the history. */
const overdue = 1.5;
/** What is under way at the end of a run is waited for so long; what it carries over is enough to do it again. */
const settleMs = 60_000;

/** Whether it is time to continue as new, at a point where everything that counts is carried over. */
export function isHistoryLong(times = 1): boolean {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength > mostEvents * times || historySize > mostBytes * times;
}

/** Says that work was given up: the run continues as new, and begins it again. */
export class HistoryFull extends Error {}

/**
 * Waits for work that may be begun again at any time. Signals go on coming while it is stuck, each with its events: once they have filled the
 * history, it is cancelled, and `HistoryFull` is thrown.
 */
export async function orGiveUp<T>(work: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const state = { isOver: false };
  const done = scope.run(work).finally(() => void (state.isOver = true));
  await Promise.race([done, condition(() => state.isOver || isHistoryLong(overdue))]);
  if (state.isOver) return done;
  done.catch(() => undefined);
  scope.cancel();
  throw new HistoryFull();
}

interface Rounds<T> {
  /** One round of work; what it gives, other than undefined, ends the workflow. Work that was given up by `orGiveUp` is no failure. */
  readonly round: () => Promise<T | undefined>;
  /** Whether nothing is under way that the run keeps to itself: handlers of orders, signals that are yet to be sent. */
  readonly isIdle?: () => boolean;
  /** Whether somebody gave an order that a round has yet to carry out, and that is not carried over. */
  readonly hasOrders?: () => boolean;
}

/** The loop of a workflow that runs for good: rounds until the history is long. Gives undefined when it is to continue as new. */
export async function roundsUntilLong<T>({
  round,
  isIdle = () => true,
  hasOrders = () => false,
}: Rounds<T>): Promise<T | undefined> {
  for (;;) {
    while (!isHistoryLong() || hasOrders()) {
      try {
        const ended = await round();
        if (ended !== undefined) return ended;
      } catch (error) {
        if (!(error instanceof HistoryFull)) throw error;
      }
    }
    // A handler that ends, and every signal that comes meanwhile, may begin what the others wait for.
    if (!isIdle()) await condition(isIdle, settleMs, { summary: 'what is under way to end' });
    if (!hasOrders()) return undefined;
  }
}
