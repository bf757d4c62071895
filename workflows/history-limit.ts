import { allHandlersFinished, CancellationScope, condition, ContinueAsNew, workflowInfo } from '@temporalio/workflow';

interface HistoryLimit {
  readonly events: number;
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;
/**
 * A worker that takes a workflow over has to fetch and replay all of its history within the ten seconds of a workflow task, or it begins again and never
 * ends. 3,800 events of `provision` take two and a half seconds of a processor, of which a worker may get a tenth.
 */
const long: HistoryLimit = { events: 1500, bytes: mebibyte };
/**
 * Beyond this, work under way is cancelled, because signals that arrive meanwhile would go on filling the history: far below Temporal's limits of 51,200
 * events and 50 MB, far above what the largest batch needs. Temporal's suggestion to continue as new does not cancel it: under a flood of signals every
 * run gets that suggestion before its work has ended, and no work would ever end.
 */
const full: HistoryLimit = { events: 6000, bytes: 6 * mebibyte };

/** Whether to continue as new now. Call it only where the carried state has everything that the next run needs. */
export function isHistoryLong(): boolean {
  return workflowInfo().continueAsNewSuggested || exceeds(long);
}

/**
 * Whether a workflow that is no entity workflow should continue as new now. Waits for handlers and work under way first. False while
 * a person's order is pending, because orders are not carried over.
 */
export async function isContinueAsNewDue(
  orders: { readonly isOrderWaiting: boolean },
  isIdle: () => boolean = () => true,
): Promise<boolean> {
  if (!isHistoryLong() || orders.isOrderWaiting) return false;
  const isDone = (): boolean => allHandlersFinished() && isIdle();
  if (!isDone()) await condition(isDone);
  return !orders.isOrderWaiting;
}

/** Runs `work`, and `release` after it in every case but continue-as-new: the next run goes on where this one is. */
export async function withRelease<T>(work: () => Promise<T>, release: () => Promise<void>): Promise<T> {
  const state = { goesOn: false };
  try {
    return await work();
  } catch (error) {
    state.goesOn = error instanceof ContinueAsNew;
    throw error;
  } finally {
    if (!state.goesOn) await CancellationScope.nonCancellable(release);
  }
}

function exceeds({ events, bytes }: HistoryLimit): boolean {
  const { historyLength, historySize } = workflowInfo();
  return historyLength > events || historySize > bytes;
}

/** Work was cancelled because the history is full. The next run repeats it. */
export class HistoryFull extends Error {}

/**
 * Runs work that can be repeated. If signals fill the history meanwhile, the work is cancelled and `HistoryFull` is thrown.
 */
export async function untilHistoryFull<T>(work: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const state = { isOver: false };
  const done = scope.run(work).finally(() => void (state.isOver = true));
  await Promise.race([done, condition(() => state.isOver || exceeds(full))]);
  if (state.isOver) return done;
  done.catch(() => undefined);
  scope.cancel();
  throw new HistoryFull();
}
