import type { LeastCost, LeastPossible } from '../../packing/least-possible.js';
import { rounded } from '../disruption-context/decision-record.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { poolNameOf } from '../disruption-context/disruption-context.js';
import type { DisruptionDetails } from './contract.js';

const mostPoolsListed = 200;

/** The number of nodes, price and least possible price of each NodePool, and the least possible price of all together. */
export function capacityDetails(
  { views, pools }: DisruptionContext,
  least: LeastPossible | undefined,
): Pick<DisruptionDetails, 'capacity' | 'leastPossiblePerHour' | 'leastPossibleWithout'> {
  const sums = new Map([...pools.keys()].sort().map((name) => [name, { nodes: 0, pricePerHour: 0 }]));
  for (const view of views) {
    const sum = sums.get(poolNameOf(view));
    // An instance is paid for before it has a Node, and while that drains.
    if (sum === undefined || (view.claim.status?.providerID ?? '') === '') continue;
    sum.nodes += 1;
    sum.pricePerHour += view.pricePerHour;
  }
  const capacity = [...sums].slice(0, mostPoolsListed).map(([nodePool, { nodes, pricePerHour }]) => {
    const known = atMost(pricePerHour, least?.byPool.get(nodePool));
    return { nodePool, nodes, pricePerHour: rounded(pricePerHour), ...known };
  });
  const total = [...sums.values()].reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return { capacity, ...atMost(total, least?.all) };
}

/** The price of running nodes counts even if their offerings are out of capacity now. */
function atMost(
  price: number,
  bound: LeastCost | undefined,
): Pick<DisruptionDetails, 'leastPossiblePerHour' | 'leastPossibleWithout'> {
  if (bound === undefined) return {};
  const { perHour, without } = bound;
  return {
    leastPossiblePerHour: rounded(Math.min(price, perHour)),
    ...(without === 0 ? {} : { leastPossibleWithout: without }),
  };
}
