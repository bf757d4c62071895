import { matches } from './pools.js';

export interface Budget {
  perSecond: number;
  burst: number;
}

const whole = 'unfiltered';

/** What EC2 documents for an account without raised limits: a bucket for each action, by what kind of action it is. */
export const publishedLimits: Record<string, Budget> = {
  RunInstances: { burst: 5, perSecond: 2 },
  TerminateInstances: { burst: 100, perSecond: 5 },
  CreateTags: { burst: 100, perSecond: 10 },
  DeleteTags: { burst: 100, perSecond: 10 },
  // Of a list that is neither filtered nor asked for in pages.
  [`Describe* ${whole}`]: { burst: 50, perSecond: 10 },
  'Describe*': { burst: 100, perSecond: 20 },
  '*': { burst: 50, perSecond: 5 },
};

/** EC2's request budgets: one token bucket per action. */
export class RateLimits {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(private readonly now: () => number) {}

  /**
   * Takes a token for the action; false when its bucket is empty. Actions that no limit names are free. `unfiltered` requests
   * have a bucket of their own where a limit says so.
   */
  admit(action: string, limits: Readonly<Record<string, Budget>>, unfiltered = false): boolean {
    const isOwn = (pattern: string): boolean => pattern.endsWith(` ${whole}`);
    const entry = Object.entries(limits).find(([pattern]) =>
      isOwn(pattern) ? unfiltered && matches(pattern, `${action} ${whole}`) : matches(pattern, action),
    );
    if (entry === undefined) return true;
    const { perSecond, burst } = entry[1];
    const now = this.now();
    const key = isOwn(entry[0]) ? `${action} ${whole}` : action;
    const bucket = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    const admitted = tokens >= 1;
    this.#buckets.set(key, { tokens: admitted ? tokens - 1 : tokens, at: now });
    return admitted;
  }

  clear(): void {
    this.#buckets.clear();
  }
}
