import { matches } from './pools.js';

/** EC2's request budgets: one token bucket per action. */
export class RateLimits {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(private readonly now: () => number) {}

  /** Takes a token for the action; false when its bucket is empty. Actions that no limit names are free. */
  admit(action: string, limits: Readonly<Record<string, { perSecond: number; burst: number }>>): boolean {
    const entry = Object.entries(limits).find(([pattern]) => matches(pattern, action));
    if (entry === undefined) return true;
    const { perSecond, burst } = entry[1];
    const now = this.now();
    const bucket = this.#buckets.get(action) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    const admitted = tokens >= 1;
    this.#buckets.set(action, { tokens: admitted ? tokens - 1 : tokens, at: now });
    return admitted;
  }

  clear(): void {
    this.#buckets.clear();
  }
}
