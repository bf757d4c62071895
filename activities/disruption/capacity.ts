import type { LeastPossible } from '../../packing/least-possible.js';
import { rounded } from '../disruption-context/decision-record.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { poolNameOf } from '../disruption-context/disruption-context.js';
import type { DisruptionDetails } from './contract.js';

const mostPoolsListed = 200;

/** The number of nodes, price and least possible price of each NodePool, and the least possible price of all together. */
export function capacityDetails(
  { views, pools }: DisruptionContext,
  least: LeastPossible | undefined,
): Pick<DisruptionDetails, 'capacity' | 'leastPossiblePerHour'> {
  const sums = new Map([...pools.keys()].sort().map((name) => [name, { nodes: 0, pricePerHour: 0 }]));
  for (const view of views) {
    const sum = sums.get(poolNameOf(view));
    if (sum === undefined || view.node === undefined) continue;
    sum.nodes += 1;
    sum.pricePerHour += view.pricePerHour;
  }
  const capacity = [...sums].slice(0, mostPoolsListed).map(([nodePool, { nodes, pricePerHour }]) => {
    const bound = atMost(pricePerHour, least?.byPool.get(nodePool));
    const known = bound === undefined ? {} : { leastPossiblePerHour: bound };
    return { nodePool, nodes, pricePerHour: rounded(pricePerHour), ...known };
  });
  const total = [...sums.values()].reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  const ofAll = atMost(total, least?.all);
  return { capacity, ...(ofAll === undefined ? {} : { leastPossiblePerHour: ofAll }) };
}

/** The price of running nodes counts even if their offerings are out of capacity now. */
function atMost(price: number, bound: number | undefined): number | undefined {
  return bound === undefined ? undefined : rounded(Math.min(price, bound));
}
