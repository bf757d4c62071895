import { compileProblem, type CompiledProblem } from './compile.js';
import type { BinProblem } from './problem.js';
import { solveWithBound } from './solve.js';

/** What each bin counts more than it costs, as a share of the mean price of a bin, if nearly all of many bins might be saved. */
const surchargeShare = 0.6;
/** So many bins more are counted as ones that cannot be saved: of few bins each that is saved would cost a large share of the price. */
const unsaved = 8;

export interface Surcharge {
  /** Dollars per hour for each bin. */
  readonly perBin: number;
  /** No packing costs less, without the surcharge, dollars per hour. */
  readonly lowerBound: number;
  /** No packing has fewer bins. */
  readonly leastBins: number;
}

/** What each bin of the problem is to count more than it costs, by a packing that is built without search. */
export function surchargeFor(problem: BinProblem): Surcharge {
  const compiled = compileProblem(problem);
  const { solution, lowerBound } = solveWithBound(problem, { units: 0 }, compiled);
  const { bins, price } = solution;
  const least = leastBins(compiled);
  return { perBin: surchargeOf({ price, nodes: bins.length }, least), lowerBound, leastBins: least };
}

/**
 * What each node is to count more than it costs, dollars per hour, so that plans with fewer nodes are preferred where these cost little more
 * (provisioning/fewest-nodes, consolidation/fewest-nodes): a share of what a node of this plan costs on average, times the square of the share of its nodes that
 * might be saved. No plan has fewer than `least`. The square, because the searches find worse plans with a surcharge where few nodes can be saved.
 *
 * Example: 40 nodes for a dollar each, all of which might be one, count as $1.40 each. Ten nodes for $5 each count as $54 together, the 40 as $56:
 * the ten are taken. Ten for $5.50 count as $59 and are not.
 */
export function surchargeOf({ price, nodes }: CountedNodes, least: number): number {
  if (nodes === 0) return 0;
  const saved = Math.max(0, nodes - least) / (nodes + unsaved);
  return surchargeShare * (price / nodes) * saved ** 2;
}

/** How many times the price of other nodes fewer nodes may cost at most, whatever their number. */
const dearestFew = 1.1;

/** What nodes cost, dollars per hour, and their number. */
interface CountedNodes {
  readonly price: number;
  readonly nodes: number;
}

/** Nodes that one search found, with the pods that have no place on them. */
export interface FoundNodes extends CountedNodes {
  readonly unplaced: number;
}

/** Whether these nodes are to be taken in place of the others: they hold more pods, or count as less and do not cost far more. */
export function isBetterFor(surcharge: number, a: FoundNodes, b: FoundNodes): boolean {
  if (a.unplaced !== b.unplaced) return a.unplaced < b.unplaced;
  if (a.price > b.price * dearestFew || b.price > a.price * dearestFew) return a.price < b.price;
  return a.price + surcharge * a.nodes < b.price + surcharge * b.nodes - 1e-9;
}

/** The same problem with each bin dearer by that, dollars per hour. */
export function withSurcharge(problem: BinProblem, perBin: number): BinProblem {
  if (perBin === 0) return problem;
  const { offers } = problem;
  return { ...problem, offers: { ...offers, price: offers.price.map((price) => price + perBin) } };
}

/** No packing has fewer bins, by the capacity of the largest ones and by caps. */
export function leastBins({
  dims,
  offers,
  capacity,
  shapeOf,
  demand,
  pods,
  items,
  capsOf,
  capMax,
}: CompiledProblem): number {
  const largest = new Float64Array(dims);
  for (let at = 0; at < offers * dims; at++) largest[at % dims] = Math.max(largest[at % dims]!, capacity[at]!);
  const total = new Float64Array(dims);
  const capped = new Float64Array(capMax.length);
  for (let item = 0; item < items; item++) {
    for (let d = 0; d < dims; d++) total[d] = total[d]! + pods[item]! * demand[shapeOf[item]! * dims + d]!;
    for (const cap of capsOf[item]!) capped[cap] = capped[cap]! + pods[item]!;
  }
  const byRoom = Array.from(total, (amount, d) => (amount > 0 ? Math.ceil(amount / largest[d]!) : 0));
  return Math.max(1, ...byRoom, ...Array.from(capped, (count, cap) => Math.ceil(count / capMax[cap]!)));
}
