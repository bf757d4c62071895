import { ApplicationFailure, ApplicationFailureCategory, TemporalFailure } from '@temporalio/common';
import { failures, isDomainError } from '../core/failures.js';

const retryable = new Map(Object.values(failures).map(({ type, retryable: again }) => [type as string, again]));

/** Routine outcomes: no error logs, no failure metrics. */
const benign: ReadonlySet<string> = new Set([
  failures.insufficientCapacity.type,
  failures.conflict.type,
  failures.throttled.type,
  failures.waiting.type,
]);

/** Converts an error of an activity to a failure for Temporal (core/failures.ts defines what is retried). */
function toFailure(error: unknown): Error {
  if (error instanceof TemporalFailure || isCancellation(error)) return error as Error;
  if (!isDomainError(error)) return error instanceof Error ? error : new Error(String(error));
  const { againMs } = error.details;
  return ApplicationFailure.create({
    type: error.type,
    message: error.message,
    nonRetryable: retryable.get(error.type) === false,
    details: [error.details],
    cause: error,
    ...(typeof againMs === 'number' ? { nextRetryDelay: againMs } : {}),
    ...(benign.has(error.type) ? { category: ApplicationFailureCategory.BENIGN } : {}),
  });
}

/** Wraps activities so that their errors are converted by `toFailure`. */
export function withFailures<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities as Record<string, (input: unknown) => Promise<unknown>>).map(
    ([name, activity]) =>
      [
        name,
        async (input: unknown): Promise<unknown> => {
          try {
            return await activity(input);
          } catch (error) {
            throw toFailure(error);
          }
        },
      ] as const,
  );
  return Object.fromEntries(wrapped) as T;
}

/** Whether the attempt is over, so that its result is not used. */
export function isCancellation(error: unknown): boolean {
  return error instanceof Error && (error.name === 'CancelledFailure' || error.name === 'AbortError');
}
