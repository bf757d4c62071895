import { Context } from '@temporalio/activity';
import { progressOf } from './attempt.js';

const heartbeatMs = 2500;

/**
 * Every activity of `activities`, heartbeating for as long as it runs: when its worker dies, the server notices within
 * the heartbeat timeout and hands it to another, instead of waiting for the attempt's own bound.
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
