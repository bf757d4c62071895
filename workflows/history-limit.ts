import { allHandlersFinished, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';

/**
 * Far below Temporal's limits of 51,200 events and 50 MB: a worker that takes a workflow over has to fetch and replay all of it.
 */
const mostEvents = 4000;
const mostBytes = 4 * 1024 * 1024;
/**
 * From this multiple of the limits on, work under way is cancelled: signals that arrive meanwhile would fill the history. Temporal's
 * suggestion alone cancels nothing. Where signals never pause it comes before any work is done, in every run, and nothing would
 * ever be finished.
 */
const overdue = 1.5;
/**
 * How long a run waits before continue-as-new for work under way to end. The state that it carries over is enough to do the rest
 * again.
 */
const settleMs = 60_000;

/** Whether to continue as new now. Call it only where everything that has to survive is in the carried state. */
export function isHistoryLong(): boolean {
  return workflowInfo().continueAsNewSuggested || exceeds(1);
}

/**
 * Whether the workflow of one node or wave is to continue as new now: its history is long, what is under way has ended, and no order
 * waits, for orders are not carried over.
 */
export async function isRunOver(
  orders: { readonly isOrderWaiting: boolean },
  isIdle: () => boolean = () => true,
): Promise<boolean> {
  if (!isHistoryLong() || orders.isOrderWaiting) return false;
  const isDone = (): boolean => allHandlersFinished() && isIdle();
  if (!isDone()) await condition(isDone);
  return !orders.isOrderWaiting;
}

function exceeds(times: number): boolean {
  const { historyLength, historySize } = workflowInfo();
  return historyLength > mostEvents * times || historySize > mostBytes * times;
}

/** Thrown when work was cancelled because the history is full: the next run begins it again. */
export class HistoryFull extends Error {}

/**
 * Waits for work that can be repeated. Signals arrive while it is stuck, and each adds events: once they have filled the history,
 * the work is cancelled and `HistoryFull` is thrown.
 */
export async function orGiveUp<T>(work: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const state = { isOver: false };
  const done = scope.run(work).finally(() => void (state.isOver = true));
  await Promise.race([done, condition(() => state.isOver || exceeds(overdue))]);
  if (state.isOver) return done;
  done.catch(() => undefined);
  scope.cancel();
  throw new HistoryFull();
}

interface Rounds<T> {
  /** One round of work. A result other than undefined ends the workflow. `HistoryFull` counts as no failure. */
  readonly round: () => Promise<T | undefined>;
  /** Whether nothing is under way that is not in the carried state: no running handlers, no signals still to be sent. */
  readonly isIdle?: () => boolean;
  /**
   * Whether a person's order is waiting for the next round. Orders are not carried over, so the run goes on until they are done.
   */
  readonly hasOrders?: () => boolean;
}

/**
 * The main loop of an entity workflow: rounds until the history is long. Returns undefined when the workflow has to continue as
 * new.
 */
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
    if (!isIdle()) await condition(isIdle, settleMs, { summary: 'what is under way to end' });
    if (!hasOrders()) return undefined;
  }
}
