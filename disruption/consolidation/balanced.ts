import type { CountedNode } from './fleet.js';

/** A command must have at least this ratio of saving to disruption (consolidation/balanced). */
const leastScore = 0.5;

/**
 * Whether the command satisfies every `Balanced` NodePool of its candidates; saving in dollars per hour
 * (consolidation/balanced).
 */
export function isBalanced(fleet: readonly CountedNode[], candidates: readonly CountedNode[], saving: number): boolean {
  const pools = new Set(candidates.filter(isOfBalancedPool).map(({ nodePool }) => nodePool));
  if (pools.size === 0) return true;
  const price = candidates.reduce((sum, node) => sum + node.price, 0);
  for (const pool of pools) {
    const members = candidates.filter(({ nodePool }) => nodePool === pool);
    const own = members.reduce((sum, node) => sum + node.price, 0);
    if (scoreOf(fleet, members, price > 0 ? (saving * own) / price : 0) < leastScore) return false;
  }
  return true;
}

const isOfBalancedPool = ({ pool }: CountedNode): boolean => pool?.spec.disruption.consolidationPolicy === 'Balanced';

/** The share of the NodePool's price that is saved, divided by the share of its disruption cost that is caused. */
function scoreOf(fleet: readonly CountedNode[], members: readonly CountedNode[], saving: number): number {
  const pool = members[0]!.nodePool;
  let price = 0;
  let disruption = 0;
  for (const node of fleet) {
    if (node.nodePool !== pool) continue;
    price += node.price;
    disruption += node.cost;
  }
  const caused = members.reduce((sum, { cost }) => sum + cost, 0);
  if (saving <= 0 || disruption <= 0) return 0;
  // Allows for rounding errors: a score of exactly one half has to pass.
  return (saving / price / (caused / disruption)) * (1 + 1e-9);
}
