import type { Compiled } from '../compile/compiled.js';
import { limitUse } from '../place/bin-problem.js';
import { type PoolLimit } from '../compile/pool-limits.js';
import type { TentativeNode } from './tentative-node.js';

/** The tentative nodes' use of NodePool limits. */
export class LimitUse {
  constructor(
    private readonly compiled: Compiled,
    private readonly limits: readonly PoolLimit[],
  ) {}

  /** Whether a node of this row is within the limits if it replaces `tentative`. */
  allows(row: number, tentative: TentativeNode | undefined): boolean {
    const { limits, compiled } = this;
    for (let l = 0; l < limits.length; l++) {
      const use = limitUse(compiled, row, limits[l]!);
      if (use <= 0) continue;
      const own =
        tentative === undefined ? 0 : limitUse(compiled, tentative.row, limits[l]!) + (tentative.reserve[l] ?? 0);
      if (use - own > limits[l]!.remaining) return false;
    }
    return true;
  }

  /** Charges `times` nodes of this row, each with its reserve; a negative number refunds them. */
  charge(row: number, reserve: readonly number[], times: number): void {
    const { limits, compiled } = this;
    for (const limit of limits) limit.remaining -= times * limitUse(compiled, row, limit);
    this.reserve(reserve, times);
  }

  remaining(): string {
    return this.limits.map(({ remaining }) => remaining).join();
  }

  reserve(reserve: readonly number[], times: number): void {
    reserve.forEach((amount, l) => (this.limits[l]!.remaining -= times * amount));
  }
}
