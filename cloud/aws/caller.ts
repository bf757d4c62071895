import { isClockCorrected, toDomainError } from './errors.js';
import type { Clock } from './clock.js';
import type { IamAction } from './iam-actions.js';
import { Limiter } from './limiter.js';

/**
 * Request budgets by kind of call, each action with its own, as EC2 counts. They are what EC2 publishes for accounts without raised
 * limits; CreateFleet begins above it, for a launch that is throttled comes again, and most accounts that need it have more.
 */
const budgets = {
  read: { burst: 100, perSecond: 20 },
  launch: { burst: 100, perSecond: 20 },
  /** RunInstances is only ever tried out: that never slows launches down. */
  tryOut: { burst: 5, perSecond: 2 },
  mutate: { burst: 50, perSecond: 5 },
  tag: { burst: 100, perSecond: 10 },
  /** Nodes end, and are seen to, however much is being launched. */
  terminate: { burst: 100, perSecond: 5 },
  /** Of single instances, by their ids. */
  describeById: { burst: 50, perSecond: 10 },
  other: { burst: 200, perSecond: 100 },
  /** Standard queues know no limit that matters here. */
  queue: { burst: 500, perSecond: 500 },
} as const;

const maxAttempts = 4;

export interface CallerOptions {
  readonly clock: Clock;
  /** Called after each call, for metrics and logs. `answered`: AWS has said something, be it no; too many requests is nothing. */
  readonly onCall?: (call: { action: IamAction; durationMs: number; code: string; answered: boolean }) => void;
}

/** Makes one call of a budget, again where that does no harm. */
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
  /** What was refused for its number or its time never took effect and may be made again; one without an answer only when it is idempotent. */
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

/** One attempt, under the limiter; `onCall` hears how it went. */
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
