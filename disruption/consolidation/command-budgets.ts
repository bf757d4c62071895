import type { BudgetReason } from '../../api/karpenter/node-pool.js';
import { allowance, type PoolCount } from '../budgets.js';
import type { FleetNode } from './fleet.js';

/** How many nodes of each NodePool one command may take (section 4.2). */
export class Budgets {
  constructor(private readonly now: number) {}

  /** The first of `wanted` that may go at once for the reason, at most `most`. */
  take(fleet: readonly FleetNode[], wanted: readonly FleetNode[], reason: BudgetReason, most: number): FleetNode[] {
    const counts = countFleet(fleet);
    const left = new Map<string, number>();
    const taken: FleetNode[] = [];
    for (const node of wanted) {
      if (taken.length === most) break;
      const { nodePool, pool } = node;
      let allowed = left.get(nodePool);
      if (allowed === undefined) {
        const count = counts.get(nodePool) ?? { total: 0, disrupting: 0 };
        allowed = allowance(pool?.spec.disruption.budgets, reason, count, this.now).allowed;
      }
      if (allowed > 0) taken.push(node);
      left.set(nodePool, Math.max(0, allowed - 1));
    }
    return taken;
  }
}

function countFleet(fleet: readonly FleetNode[]): Map<string, PoolCount> {
  const counts = new Map<string, PoolCount>();
  for (const { nodePool, counted } of fleet) {
    if (counted === 'no') continue;
    const { total, disrupting } = counts.get(nodePool) ?? { total: 0, disrupting: 0 };
    counts.set(nodePool, { total: total + 1, disrupting: disrupting + (counted === 'disrupting' ? 1 : 0) });
  }
  return counts;
}
