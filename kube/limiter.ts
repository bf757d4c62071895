/** Waits for a slot; first come, first served, urgent callers first. */
export interface RateLimiter {
  take(): Promise<void>;
}

export interface LimiterClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Rejects with the signal's reason when it aborts. `inBackground`: does not keep the process alive. */
  sleep(milliseconds: number, signal?: AbortSignal, options?: { readonly inBackground?: boolean }): Promise<void>;
}

/** The system clock. */
export const limiterClock: LimiterClock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal, { inBackground = false } = {}) =>
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
      if (inBackground) timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** The reason of an aborted signal, as an Error. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** After this many urgent callers one other caller is served, so that neither kind starves. */
const urgentInARow = 3;

/**
 * A token bucket of `burst` tokens that refills at `qps` per second (KUBE_CLIENT_QPS and KUBE_CLIENT_BURST;
 * settings/client-rate). A `qps` of 0 or less never limits. Callers for which `isUrgent` is true go first.
 */
export function createRateLimiter(
  qps: number,
  burst: number,
  clock: LimiterClock,
  isUrgent: () => boolean = () => false,
): RateLimiter {
  const bucket = new Bucket(qps, burst, clock);
  const waiting = new Waiting();
  let serving = false;
  const serve = async (): Promise<void> => {
    serving = true;
    for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
      while (!bucket.take()) await clock.sleep(bucket.untilNextMs());
      // A caller that arrived meanwhile may be more urgent.
      waiting.shift(waiting.next() ?? next)();
    }
    serving = false;
  };
  const take = async (): Promise<void> => {
    if (qps <= 0 || (!serving && bucket.take())) return;
    await new Promise<void>((resolve) => {
      waiting.push(isUrgent() ? 'urgent' : 'other', resolve);
      if (!serving) void serve();
    });
  };
  return { take };
}

class Bucket {
  private tokens: number;
  private filledAt: number;

  constructor(
    private readonly qps: number,
    private readonly burst: number,
    private readonly clock: LimiterClock,
  ) {
    this.tokens = burst;
    this.filledAt = clock.now();
  }

  take(): boolean {
    const now = this.clock.now();
    this.tokens = Math.min(this.burst, this.tokens + (Math.max(0, now - this.filledAt) * this.qps) / 1000);
    this.filledAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  untilNextMs(): number {
    return Math.max(1, Math.ceil(((1 - this.tokens) * 1000) / this.qps));
  }
}

type Lane = 'urgent' | 'other';

/** Two queues, each in order of arrival. */
class Waiting {
  private readonly lanes: Readonly<Record<Lane, (() => void)[]>> = { urgent: [], other: [] };
  private inARow = 0;

  push(lane: Lane, go: () => void): void {
    this.lanes[lane].push(go);
  }

  /** The lane to serve next; undefined if both are empty. */
  next(): Lane | undefined {
    const { urgent, other } = this.lanes;
    if (urgent.length > 0 && (this.inARow < urgentInARow || other.length === 0)) return 'urgent';
    return other.length > 0 ? 'other' : undefined;
  }

  shift(lane: Lane): () => void {
    this.inARow = lane === 'urgent' ? this.inARow + 1 : 0;
    return this.lanes[lane].shift()!;
  }
}

/**
 * Exponential back-off: `base` milliseconds, doubling up to `max`, randomized over the upper half by `random` (0 to 1).
 */
export function backoff(
  attempt: number,
  options: { readonly base: number; readonly max: number; readonly random: () => number },
): number {
  const ceiling = Math.min(options.max, options.base * 2 ** Math.min(attempt, 30));
  return Math.round(ceiling * (0.5 + options.random() / 2));
}
