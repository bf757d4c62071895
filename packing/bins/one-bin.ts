import type { BinProblem } from './problem.js';

/**
 * The cheapest offer whose single bin holds all items; undefined if there is none. Exact: every offer is tried; of
 * equal prices the first is taken.
 */
export function cheapestForAll(problem: BinProblem): number | undefined {
  if (!mayShare(problem)) return undefined;
  const { offers, dimensions, limits } = problem;
  const wanted = totalDemand(problem);
  let best: number | undefined;
  for (let offer = 0; offer < offers.count; offer++) {
    if (best !== undefined && offers.price[offer]! >= offers.price[best]!) continue;
    if (limits.some(({ use, remaining }) => use[offer]! > remaining)) continue;
    if (!holds(offers.capacity, offer * dimensions, wanted) || !isAllowed(problem, offer)) continue;
    best = offer;
  }
  return best;
}

/** Whether caps and conflicts allow all items in one bin. */
function mayShare({ items, caps, conflicts }: BinProblem): boolean {
  if (conflicts.some(([a, b]) => items.pods[a]! > 0 && items.pods[b]! > 0)) return false;
  const countOf = (list: Int32Array): number => list.reduce((sum, item) => sum + items.pods[item]!, 0);
  return caps.every(({ items: capped, max }) => countOf(capped) <= max);
}

function totalDemand({ items, dimensions }: BinProblem): Float64Array {
  const total = new Float64Array(dimensions);
  for (let item = 0; item < items.count; item++) {
    for (let d = 0; d < dimensions; d++) total[d]! += items.pods[item]! * items.demand[item * dimensions + d]!;
  }
  return total;
}

function holds(capacity: Float64Array, at: number, wanted: Float64Array): boolean {
  for (let d = 0; d < wanted.length; d++) if (capacity[at + d]! < wanted[d]!) return false;
  return true;
}

function isAllowed({ items }: BinProblem, offer: number): boolean {
  return items.allowed.every(
    (bits, item) => items.pods[item] === 0 || (bits[offer >>> 5]! & (1 << (offer & 31))) !== 0,
  );
}
