import { mostCandidates } from './command-budgets.js';
import { priceOfAll, type CountedNode, type FleetNode } from './fleet.js';
import { isFixed } from './target.js';

/**
 * The most that one launch may cost, as a share of the price of the nodes that may be disrupted at once, if budgets
 * exclude other nodes: not all of the disrupted nodes use the launch.
 */
const paidWith = 0.8;

/**
 * The highest price of the nodes that budgets allow at once, dollars per hour: a launch above it can never save. `most`
 * gives how many nodes of a node's NodePool may be disrupted together.
 */
export function affordable(nodes: readonly FleetNode[], most: (node: CountedNode) => number): number {
  const taken = new Map<string, number>();
  const dearest = nodes.filter((node) => !isFixed(node)).sort((a, b) => b.price - a.price);
  const together = dearest.filter((node) => {
    const count = (taken.get(node.nodePool) ?? 0) + 1;
    taken.set(node.nodePool, count);
    return count <= most(node);
  });
  const first = together.slice(0, mostCandidates);
  const share = first.length === dearest.length ? 1 : paidWith;
  return Math.max(first[0]?.price ?? 0, share * priceOfAll(first));
}
