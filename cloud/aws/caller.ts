import { isClockCorrected, toDomainError } from './errors.js';
import type { Clock } from './clock.js';
import type { IamAction } from './iam-actions.js';
import { Limiter } from './limiter.js';

/**
 * Request budgets by kind of call, separate for each action, as EC2 counts. The values are the defaults that EC2
 * publishes. CreateFleet starts above its default: a throttled launch is retried, and most accounts that launch much
 * have raised limits.
 */
const budgets = {
  read: { burst: 100, perSecond: 20 },
  launch: { burst: 100, perSecond: 20 },
  /** Only dry runs use RunInstances; their budget does not slow down launches. */
  tryOut: { burst: 5, perSecond: 2 },
  mutate: { burst: 50, perSecond: 5 },
  tag: { burst: 100, perSecond: 10 },
  /** Separate, so that terminations proceed however many launches there are. */
  terminate: { burst: 100, perSecond: 5 },
  /** For single instances by id. */
  describeById: { burst: 50, perSecond: 10 },
  other: { burst: 200, perSecond: 100 },
  /** Standard queues have no limit that matters here. */
  queue: { burst: 500, perSecond: 500 },
} as const;

const maxAttempts = 4;

export interface CallerOptions {
  readonly clock: Clock;
  /**
   * Called after each call, for metrics and logs. `answered`: AWS responded, even with an error; throttling does not
   * count.
   */
  readonly onCall?: (call: { action: IamAction; durationMs: number; code: string; answered: boolean }) => void;
}

/** Makes one call within a budget and retries it if that is safe. */
export type Caller = <T>(
  action: IamAction,
  budget: keyof typeof budgets,
  send: () => Promise<T>,
  idempotent?: boolean,
) => Promise<T>;

/** Limits calls by their budgets, retries them, and turns what fails into domain errors. */
export function createCaller(options: CallerOptions): Caller {
  const limiters = new Map<string, Limiter>();
  const limiterOf = (action: IamAction, budget: keyof typeof budgets): Limiter => {
    const key = `${budget}/${action}`;
    const limiter = limiters.get(key) ?? new Limiter(budgets[budget], options.clock);
    limiters.set(key, limiter);
    return limiter;
  };
  /**
   * Throttled calls and calls with a wrong timestamp never took effect and may be repeated. A call without a response
   * is repeated only if it is idempotent.
   */
  return async (action, budget, send, idempotent = true) => {
    const limiter = limiterOf(action, budget);
    for (let attempt = 1; ; attempt++) {
      try {
        return await callOnce(action, { limiter, send, options });
      } catch (error) {
        const { type } = toDomainError(error, action);
        const again = type === 'Throttled' || isClockCorrected(error) || (type === 'Unavailable' && idempotent);
        if (!again || attempt >= maxAttempts) throw error;
        await options.clock.sleep(100 * 2 ** attempt * (0.5 + Math.random()));
      }
    }
  };
}

/** One attempt, under the limiter; reports the result to `onCall`. */
async function callOnce<T>(
  action: IamAction,
  { limiter, send, options: { clock, onCall } }: { limiter: Limiter; send: () => Promise<T>; options: CallerOptions },
): Promise<T> {
  await limiter.acquire();
  const start = clock.now();
  const report = (code: string, answered = true): void =>
    onCall?.({ action, durationMs: clock.now() - start, code, answered });
  try {
    const answer = await send();
    limiter.succeeded();
    report('');
    return answer;
  } catch (error) {
    const failure = toDomainError(error, action);
    if (failure.type === 'Throttled') limiter.throttled();
    const { code } = failure.details;
    const isAnswered = failure.type !== 'Throttled' && failure.type !== 'Unavailable';
    report(typeof code === 'string' && code !== '' ? code : failure.type, isAnswered);
    throw failure;
  }
}
