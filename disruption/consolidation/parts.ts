import type { Pod } from '../../api/kubernetes.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';

/** Nodes whose pods share launches with each other, and with no other node. */
interface CandidateGroup {
  readonly nodes: readonly FleetNode[];
  /** The price of the nodes less that of their launches, dollars per hour. */
  readonly saving: number;
}

/**
 * Splits an outcome of a fleet plan into independent groups, which have no launch in common and save or do not save
 * separately. Highest saving per disruption cost first.
 */
export function candidateGroupsOf({ candidates, launches, route = [] }: Outcome): CandidateGroup[] {
  const source = new Map<Pod, number>();
  candidates.forEach(({ loads }, i) => {
    for (const pods of loads.values()) for (const pod of pods) source.set(pod, i);
  });
  const parent = candidates.map((_, i) => i);
  const root = (i: number): number => {
    let at = i;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!;
    return at;
  };
  // Launches are in the order in which the route opens them.
  const firstAt = new Map<number, number>();
  for (const { pods, to } of route) {
    if (typeof to !== 'number') continue;
    for (const pod of pods) {
      const node = root(source.get(pod)!);
      const other = firstAt.get(to);
      if (other === undefined) firstAt.set(to, node);
      else parent[node] = root(other);
    }
  }
  const bought = new Map<number, number>();
  [...firstAt.values()].forEach((node, i) => {
    bought.set(root(node), (bought.get(root(node)) ?? 0) + launches[i]!.price);
  });
  const together = new Map<number, FleetNode[]>();
  candidates.forEach((node, i) => {
    const nodes = together.get(root(i));
    if (nodes === undefined) together.set(root(i), [node]);
    else nodes.push(node);
  });
  return [...together]
    .map(([at, nodes]) => ({ nodes, saving: priceOfAll(nodes) - (bought.get(at) ?? 0) }))
    .sort((a, b) => b.saving / costOf(b.nodes) - a.saving / costOf(a.nodes));
}

const costOf = (nodes: readonly FleetNode[]): number => nodes.reduce((sum, { cost }) => sum + cost, 0);
