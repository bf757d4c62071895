import type { CompiledProblem } from './compile.js';

/** Tracks the remaining amount of each limit while bins are added and removed. */
export class LimitUsage {
  private readonly remaining: Float64Array;

  constructor(private readonly compiled: CompiledProblem) {
    this.remaining = Float64Array.from(compiled.limitRemaining);
  }

  /** Remaining amount of a limit. */
  left(limit: number): number {
    return this.remaining[limit]!;
  }

  /** Whether limits allow one more bin of `offer`. */
  allows(offer: number): boolean {
    return this.remaining.length === 0 || this.most(offer) >= 1;
  }

  /** How many more bins of `offer` limits allow, at most a billion. */
  most(offer: number): number {
    const { limitUse, offers } = this.compiled;
    let most = 1e9;
    for (let l = 0; l < this.remaining.length; l++) {
      const use = limitUse[l * offers + offer]!;
      if (use <= 0) continue;
      let count = Math.floor(this.remaining[l]! / use);
      if (count * use > this.remaining[l]!) count--;
      most = Math.min(most, Math.max(0, count));
    }
    return most;
  }

  use(offer: number, times: number): void {
    const { limitUse, offers } = this.compiled;
    for (let l = 0; l < this.remaining.length; l++) {
      this.remaining[l] = this.remaining[l]! - times * limitUse[l * offers + offer]!;
    }
  }
}
