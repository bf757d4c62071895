/** Waits for a slot; callers are served in the order they came. */
export interface RateLimiter {
  take(): Promise<void>;
}

export interface Clock {
  /** Milliseconds of the epoch. */
  now(): number;
  /** Rejects with the signal's reason when it aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(reasonOf(signal));
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(reasonOf(signal!));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, milliseconds);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** What an aborted signal says, as an Error. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/**
 * A token bucket of `burst` tokens that refills at `qps` a second (KUBE_CLIENT_QPS and KUBE_CLIENT_BURST, section
 * 5.1). A `qps` of 0 or less never limits.
 */
export function createRateLimiter(qps: number, burst: number, clock: Clock): RateLimiter {
  let tokens = burst;
  let filledAt = clock.now();
  const take = async (): Promise<void> => {
    if (qps <= 0) return;
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) * qps) / 1000);
    filledAt = now;
    // Who comes early borrows from the future, and so queues behind those that borrowed before.
    tokens -= 1;
    if (tokens < 0) await clock.sleep(Math.ceil((-tokens * 1000) / qps));
  };
  return { take };
}

/** Exponential back-off: `base` milliseconds, doubling up to `max`, spread over the upper half by `random` (0 to 1). */
export function backoff(
  attempt: number,
  options: { readonly base: number; readonly max: number; readonly random: () => number },
): number {
  const ceiling = Math.min(options.max, options.base * 2 ** Math.min(attempt, 30));
  return Math.round(ceiling * (0.5 + options.random() / 2));
}
