import type { History } from '@temporalio/worker';
import type { temporal } from '@temporalio/proto';

type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

interface Seconds {
  readonly seconds?: unknown;
  readonly nanos?: number | null;
}

/** When the first of the timers that a workflow waits for fires, milliseconds of the epoch; undefined without one. */
export function nextTimerOf({ events }: History): number | undefined {
  const due = new Map<string, number>();
  for (const event of events ?? []) {
    const { timerStartedEventAttributes: started } = event;
    if (isThere(started))
      due.set(started.timerId ?? '', millisOf(event.eventTime) + millisOf(started.startToFireTimeout));
    const ended = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
    if (isThere(ended)) due.delete(ended.timerId ?? '');
  }
  return due.size === 0 ? undefined : Math.min(...due.values());
}

/** Whether an activity is with a worker, or on its way to one. */
export function isTried({ lastStartedTime, lastAttemptCompleteTime }: PendingActivity): boolean {
  return !isThere(lastAttemptCompleteTime) || millisOf(lastAttemptCompleteTime) < millisOf(lastStartedTime);
}

/** When an activity that failed is tried again, milliseconds of the epoch, as far as it said so itself. */
export function nextAttemptOf({ lastAttemptCompleteTime, lastFailure }: PendingActivity): number {
  return millisOf(lastAttemptCompleteTime) + millisOf(lastFailure?.applicationFailureInfo?.nextRetryDelay);
}

function millisOf(time: Seconds | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
}

export function isThere<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
