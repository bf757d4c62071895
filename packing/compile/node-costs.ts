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
  if (policies === undefined || policies.length === 0) return undefined;
  return inOrder(policies).find(
    ({ spec }) => spec.nodePoolSelector === undefined || selects(spec.nodePoolSelector, pool.metadata.labels),
  );
}

const ordered = new WeakMap<readonly DisruptionPolicy[], readonly DisruptionPolicy[]>();

/** In order of precedence; sorted once for all NodePools. */
function inOrder(policies: readonly DisruptionPolicy[]): readonly DisruptionPolicy[] {
  let known = ordered.get(policies);
  if (known === undefined) {
    known = [...policies].sort(
      (a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || compareText(nameOf(a), nameOf(b)),
    );
    ordered.set(policies, known);
  }
  return known;
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
