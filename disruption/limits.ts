import type { NodePool } from '../api/karpenter/node-pool.js';
import type { DisruptionReason } from '../api/stowage/disruption-policy.js';
import { allowance } from './budgets.js';
import type { Allowance, PoolCount } from './budgets.js';

/** What else than the pool itself bounds its disruption. */
export interface LimitsContext {
  /** Milliseconds of the epoch. */
  readonly now: number;
}

/**
 * How many nodes of a pool may go now for a reason, everything that bounds it together: the pool's budgets (section
 * 4.2). Every way to disrupt a node by choice asks here.
 */
export function limitOf(
  pool: NodePool | undefined,
  reason: DisruptionReason,
  count: PoolCount,
  { now }: LimitsContext,
): Allowance {
  return allowance(pool?.spec.disruption.budgets, reason, count, now);
}
