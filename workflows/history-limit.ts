import { allHandlersFinished, CancellationScope, condition, ContinueAsNew, workflowInfo } from '@temporalio/workflow';

interface HistoryLimit {
  readonly events: number;
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;
/**
 * A worker that takes over a workflow has to fetch and replay its whole history within the ten seconds of a workflow
 * task. If it cannot, the task times out and is tried again for ever. Replaying 3,800 events of `provision` takes 2.5
 * seconds of processor time, and a worker may get a tenth of a processor.
 */
const long: HistoryLimit = { events: 1500, bytes: mebibyte };
/**
 * Beyond this, work under way is cancelled, because signals that arrive meanwhile would go on filling the history. It
 * is far below Temporal's limits of 51,200 events and 50 MB, and far above the needs of the largest batch. Temporal's
 * suggestion to continue as new does not cancel work: under a flood of signals every run would get that suggestion
 * before its work has ended, and no work would ever end.
 */
const full: HistoryLimit = { events: 6000, bytes: 6 * mebibyte };

/** Whether to continue as new now. Call it only where the carried state has everything that the next run needs. */
export function isHistoryLong(): boolean {
  return workflowInfo().continueAsNewSuggested || exceeds(long);
}

/** Whether the history is so long that work which could not be carried over has to end. */
export function isHistoryFull(): boolean {
  return exceeds(full);
}

/**
 * Whether a workflow that is no entity workflow should continue as new now. Waits for handlers and work under way
 * first. False while a person's order is pending, because orders are not carried over.
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

/**
 * Runs `work`, and then `release` in every case except continue-as-new, after which the next run continues the work.
 */
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
 * Runs work that can be repeated. If signals fill the history meanwhile, the work is cancelled and `HistoryFull` is
 * thrown.
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
