import type { DisruptionReason } from '../../api/stowage/disruption-policy.js';
import type { PoolCount } from '../budgets.js';
import { clearance } from './clearance.js';
import type { Clearance, PoolRules } from './clearance.js';
import type { StandingPause } from './pauses.js';
import type { Start } from './start.js';

/** A node that wants to go. */
export interface Leaver {
  readonly node: string;
  readonly nodePool: string;
}

export type Verdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly node: string; readonly why: string; readonly nextAt?: number };

/**
 * Who may go in one pass over all reasons and pools: what is admitted counts at once against what comes after it, so that
 * a pass as a whole stays within every bound.
 */
export class Admission {
  private readonly began: Start[] = [];
  private readonly taken = new Map<string, number>();

  constructor(
    private readonly facts: {
      /** Milliseconds of the epoch. */
      readonly now: number;
      readonly rules: ReadonlyMap<string, PoolRules>;
      readonly counts: ReadonlyMap<string, PoolCount>;
      readonly starts: readonly Start[];
      readonly pauses: readonly StandingPause[];
    },
  ) {}

  /** What began in this pass: for the memory of whoever admits in the next. */
  get starts(): readonly Start[] {
    return this.began;
  }

  /** How many more nodes of the pool may go for the reason; with `node`, whether that one may. */
  clearance(reason: DisruptionReason, nodePool: string, node?: string): Clearance {
    const { now, rules, counts, starts, pauses } = this.facts;
    const pool = rules.get(nodePool);
    if (pool === undefined) return { allowed: 0, heldBy: [`NodePool ${nodePool} does not exist`] };
    const { total, disrupting } = counts.get(nodePool) ?? { total: 0, disrupting: 0 };
    const count = { total, disrupting: disrupting + (this.taken.get(nodePool) ?? 0) };
    return clearance(reason, pool, { count, starts: [...starts, ...this.began], pauses }, now, node);
  }

  /** Admits all of them, or none and says for which node and why. */
  admit(reason: DisruptionReason, leavers: readonly Leaver[]): Verdict {
    const wanted = new Map<string, number>();
    for (const { node, nodePool } of leavers) {
      const nth = (wanted.get(nodePool) ?? 0) + 1;
      wanted.set(nodePool, nth);
      const { allowed, heldBy, nextAt } = this.clearance(reason, nodePool, node);
      if (allowed >= nth) continue;
      const more = allowed > 0 ? `${allowed} of the nodes asked for may go: ` : '';
      const why = `${more}${heldBy.join('; ')}`;
      return { admitted: false, node, why, ...(nextAt === undefined ? {} : { nextAt }) };
    }
    for (const [nodePool, nodes] of wanted) {
      this.taken.set(nodePool, (this.taken.get(nodePool) ?? 0) + nodes);
      this.began.push({ at: this.facts.now, nodePool, reason, nodes });
    }
    return { admitted: true };
  }
}
