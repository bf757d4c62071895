import type { Clock } from './clock.js';

export interface CallBudget {
  /** Number of calls allowed at once after a quiet time. */
  readonly burst: number;
  /** Calls per second beyond that. */
  readonly perSecond: number;
}

/**
 * A token bucket shared by all callers of one request budget. When AWS throttles a call, all slow down together: the
 * rate halves and the bucket empties; each success raises the rate a little.
 */
export class Limiter {
  private tokens: number;
  private rate: number;
  private refilledAt: number;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly budget: CallBudget,
    private readonly clock: Clock,
  ) {
    this.tokens = budget.burst;
    this.rate = budget.perSecond;
    this.refilledAt = clock.now();
  }

  /** The current rate. */
  get perSecond(): number {
    return this.rate;
  }

  /** Resolves when the caller may make one call; first come, first served. */
  acquire(): Promise<void> {
    const mine = this.turn.then(() => this.take());
    this.turn = mine;
    return mine;
  }

  succeeded(): void {
    this.rate = Math.min(this.budget.perSecond, this.rate + this.budget.perSecond / 50);
  }

  throttled(): void {
    this.refill();
    this.tokens = Math.min(0, this.tokens);
    this.rate = Math.max(this.budget.perSecond / 32, this.rate / 2);
  }

  private async take(): Promise<void> {
    for (;;) {
      this.refill();
      if (this.tokens >= 1) break;
      await this.clock.sleep(Math.ceil(((1 - this.tokens) / this.rate) * 1000));
    }
    this.tokens -= 1;
  }

  private refill(): void {
    const now = this.clock.now();
    // If the clock was set back, no time has passed.
    const seconds = Math.max(0, now - this.refilledAt) / 1000;
    this.tokens = Math.min(this.budget.burst, this.tokens + seconds * this.rate);
    this.refilledAt = now;
  }
}
