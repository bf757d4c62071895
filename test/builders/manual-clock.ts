import type { LimiterClock } from '../../kube/limiter.js';

export interface ManualClock extends LimiterClock {
  /** Moves time on, waking sleepers in their order and letting each run before the next. */
  advance(milliseconds: number): Promise<void>;
  /** Lets what is ready run, without moving time. */
  settle(): Promise<void>;
}

/** A clock that advances only when a test moves it. */
export function createManualClock(start = Date.parse('2026-01-01T00:00:00Z')): ManualClock {
  let now = start;
  let sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    now: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        const abort = (): void => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
        };
        const wake = (): void => {
          signal?.removeEventListener('abort', abort);
          resolve();
        };
        const sleeper = { at: now + milliseconds, wake };
        if (signal?.aborted === true) abort();
        else {
          signal?.addEventListener('abort', abort, { once: true });
          sleepers.push(sleeper);
        }
      }),
    advance: async (milliseconds) => {
      const end = now + milliseconds;
      await settle();
      for (;;) {
        const [next] = sleepers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        sleepers = sleepers.filter((other) => other !== next);
        now = Math.max(now, next.at);
        next.wake();
        await settle();
      }
      now = end;
    },
    settle,
  };
}
