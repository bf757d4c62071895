import { compileProblem, type CompiledProblem } from './compile.js';
import type { BinProblem, BinSolution } from './problem.js';

/** Surcharge per bin, as a share of the mean price of a bin, if nearly all of many bins might be saved. */
const surchargeShare = 0.6;
/** Added to the least number of bins: with few bins, saving one would cost a large share of the price. */
const unsaved = 8;
/** The surcharge of each bin of the problem, dollars per hour, by a packing that is built without search. */
export const surchargeFor = (problem: BinProblem, { bins, price }: BinSolution): number =>
  surchargeOf({ price, nodes: bins.length }, leastBins(compileProblem(problem)));

/**
 * The surcharge of each node, dollars per hour. It makes plans with fewer nodes preferred if they cost little more
 * (provisioning/fewest-nodes, consolidation/fewest-nodes): a share of the mean price of a node of this plan, times the
 * square of the share of its nodes that might be saved. `least`: lower bound of the number of nodes. The square,
 * because the searches find worse plans with a surcharge if few nodes can be saved.
 *
 * Example: 40 nodes of a dollar each, all of which might be one, count as $1.40 each.
 */
export function surchargeOf({ price, nodes }: CountedNodes, least: number): number {
  if (nodes === 0) return 0;
  const saved = Math.max(0, nodes - least) / (nodes + unsaved);
  return surchargeShare * (price / nodes) * saved ** 2;
}

/** Total price of nodes, dollars per hour, and their number. */
interface CountedNodes {
  readonly price: number;
  readonly nodes: number;
}

/** The same problem with the price of each bin raised by `perBin`, dollars per hour. */
export function withSurcharge(problem: BinProblem, perBin: number): BinProblem {
  if (perBin === 0) return problem;
  const { offers } = problem;
  return { ...problem, offers: { ...offers, price: offers.price.map((price) => price + perBin) } };
}

/** Lower bound of the number of bins, from the capacity of the largest bins and from caps. */
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
