import type { CompiledProblem } from './compile.js';

/** What is left of each limit as bins come and go. */
export class LimitUsage {
  private readonly remaining: Float64Array;

  constructor(private readonly compiled: CompiledProblem) {
    this.remaining = Float64Array.from(compiled.limitRemaining);
  }

  /** What is left of a limit. */
  left(limit: number): number {
    return this.remaining[limit]!;
  }

  /** Whether one more bin of `offer` may come. */
  allows(offer: number): boolean {
    return this.remaining.length === 0 || this.most(offer) >= 1;
  }

  /** How many more bins of `offer` may come, at most a billion. */
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
