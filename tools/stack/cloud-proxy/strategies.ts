import type { CapacityKind } from './pools.js';

/** One override of a CreateFleet request with what the market says about its pool. */
export interface Candidate {
  capacityType: CapacityKind;
  instanceType: string;
  zone: string;
  /** Position in the request; the last tie-breaker. */
  order: number;
  /** Dollars per hour. */
  price: number;
  /** How deep the spot pool is, 1 (shallow) to 10. */
  depth: number;
  /** Lower is preferred; absent comes last. */
  priority: number | undefined;
}

type Compare = (left: Candidate, right: Candidate) => number;

const byPrice: Compare = (left, right) => left.price - right.price;
const byDepth: Compare = (left, right) => right.depth - left.depth;
const byOrder: Compare = (left, right) => left.order - right.order;
const byPriority: Compare = (left, right) => {
  const [a, b] = [left.priority ?? Number.POSITIVE_INFINITY, right.priority ?? Number.POSITIVE_INFINITY];
  return a === b ? 0 : a - b;
};

const inTurn =
  (...compares: readonly Compare[]): Compare =>
  (left, right) => {
    for (const compare of compares) {
      const result = compare(left, right);
      if (result !== 0) return result;
    }
    return 0;
  };

/** Pools within two steps of the deepest count as equally available. */
const deepEnough = 2;

/**
 * The order in which EC2 Fleet tries the overrides under an allocation strategy, as its documentation describes:
 * `price-capacity-optimized` takes the cheapest of the most available pools, `capacity-optimized-prioritized`
 * honours priorities among the most available ones. `diversified` is spread by the caller.
 */
export function inOrderOf(strategy: string, candidates: readonly Candidate[]): Candidate[] {
  const deepest = Math.max(0, ...candidates.map(({ depth }) => depth));
  const tier = ({ depth }: Candidate): number => (depth >= deepest - deepEnough ? 0 : deepest - depth);
  const byTier: Compare = (left, right) => tier(left) - tier(right);
  const orders: Readonly<Record<string, Compare>> = {
    'lowest-price': inTurn(byPrice, byOrder),
    prioritized: inTurn(byPriority, byPrice, byOrder),
    'capacity-optimized': inTurn(byDepth, byPrice, byOrder),
    'capacity-optimized-prioritized': inTurn(byTier, byPriority, byDepth, byOrder),
    'price-capacity-optimized': inTurn(byTier, byPrice, byOrder),
    diversified: inTurn(byPrice, byOrder),
  };
  return candidates.toSorted(orders[strategy] ?? orders['lowest-price']);
}

export const spotStrategies = [
  'lowest-price',
  'diversified',
  'capacity-optimized',
  'capacity-optimized-prioritized',
  'price-capacity-optimized',
] as const;

export const onDemandStrategies = ['lowest-price', 'prioritized'] as const;
