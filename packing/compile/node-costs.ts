import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { compareText } from '../../core/text.js';
import type { InstanceType } from '../../core/instance-type.js';
import { selects } from '../../core/labels.js';
import { machinePrice } from './commitments.js';
import { nameOf } from '../../core/names.js';

/**
 * The DisruptionPolicy that applies to a NodePool: of those that select it the one with the highest weight; of equal
 * weights the first by name.
 */
export function rulingPolicy(
  pool: NodePool,
  policies: readonly DisruptionPolicy[] | undefined,
): DisruptionPolicy | undefined {
  let ruling: DisruptionPolicy | undefined;
  for (const policy of policies ?? []) {
    const { nodePoolSelector: selector } = policy.spec;
    if (selector !== undefined && !selects(selector, pool.metadata.labels)) continue;
    if (ruling === undefined || precedes(policy, ruling)) ruling = policy;
  }
  return ruling;
}

function precedes(a: DisruptionPolicy, b: DisruptionPolicy): boolean {
  const heavier = (a.spec.weight ?? 0) - (b.spec.weight ?? 0);
  return heavier > 0 || (heavier === 0 && compareText(nameOf(a), nameOf(b)) < 0);
}

/**
 * By NodePool: what a node costs in addition to the cloud bill, dollars per hour (node-pools/node-cost), plus `more`.
 * NodePools without such a cost are omitted.
 */
export function nodeCosts(
  pools: readonly NodePool[],
  policies: readonly DisruptionPolicy[] | undefined,
  more = 0,
): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const pool of more === 0 && (policies === undefined || policies.length === 0) ? [] : pools) {
    const cost = Number(rulingPolicy(pool, policies)?.spec.nodeCost ?? 0) + more;
    if (cost > 0) costs.set(nameOf(pool), cost);
  }
  return costs;
}

/** The same types, with `cost` added to the price of each offering. */
export function withNodeCost(types: readonly InstanceType[], cost: number): InstanceType[] {
  return types.map((type) => ({
    ...type,
    offerings: type.offerings.map((offering) => ({
      ...offering,
      price: offering.price + cost,
      machinePrice: machinePrice(offering),
    })),
  }));
}
