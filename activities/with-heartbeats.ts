import { Context } from '@temporalio/activity';
import { progressOf } from './attempt.js';

const heartbeatMs = 2500;

/**
 * Wraps activities so that they heartbeat as long as they run: if a worker dies, the server notices that within the
 * heartbeat timeout and schedules another attempt, instead of waiting for the timeout of the attempt.
 */
export function withHeartbeats<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities as Record<string, (input: unknown) => Promise<unknown>>).map(
    ([name, activity]) =>
      [
        name,
        async (input: unknown): Promise<unknown> => {
          const context = Context.current();
          const beats = setInterval(() => context.heartbeat(progressOf(context)), heartbeatMs);
          try {
            return await activity(input);
          } finally {
            clearInterval(beats);
          }
        },
      ] as const,
  );
  return Object.fromEntries(wrapped) as T;
}
