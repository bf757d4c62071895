import { compileProblem } from '../bins/compile.js';
import { cheapestForAll } from '../bins/one-bin.js';
import type { BinProblem, BinSolution, Effort } from '../bins/problem.js';
import { ride } from '../bins/riding.js';
import { solveWithBound } from '../bins/solve.js';
import { leastBins, surchargeFor, withSurcharge } from '../bins/surcharge.js';
import { nearEnough } from './working-plan.js';

/**
 * Units of search after a first packing: proportional to the pods, so that time is too. Plans of few pods are searched
 * as a whole afterwards.
 */
const effortFor = (pods: number): Effort => ({
  units: pods <= 500 ? 100_000 : Math.min(400_000, pods * 20),
  visits: pods <= 500 ? 2_000_000 : Math.min(12_000_000, pods * 3200),
});

/** The result of the search, or the one bin that holds everything, which the search can miss with few pods. */
function buy(problem: BinProblem, effort: Effort): { solution: BinSolution; lowerBound: number } {
  const found = solveWithBound(problem, effort);
  const { price, unplaced } = found.solution;
  const isNear = price <= found.lowerBound * nearEnough;
  const offer = isNear || unplaced.some((left) => left > 0) ? undefined : cheapestForAll(problem);
  const priceOfOne = offer === undefined ? Infinity : problem.offers.price[offer]!;
  if (offer === undefined || priceOfOne >= price) return found;
  const { count, pods } = problem.items;
  const bin = { offer, items: Int32Array.from({ length: count }, (_, item) => item), pods };
  return { ...found, solution: { bins: [bin], filled: [], unplaced: new Int32Array(count), price: priceOfOne } };
}

interface Bought {
  readonly solution: BinSolution;
  readonly lowerBound: number;
  /** Whether pods ride on nodes that others open. `lowerBound` assumes that all pods of a node open it. */
  readonly isRidden: boolean;
}

/** The purchase, or a cheaper one in which pods ride on nodes that others open. */
function buyWithRiding(problem: BinProblem, pods: number): Bought {
  const effort = effortFor(pods);
  const { riding, ...items } = problem.items;
  const found = buy({ ...problem, items }, effort);
  const isAll = found.solution.unplaced.every((left) => left === 0);
  const cheaper = riding !== undefined && isAll ? ride(problem, found.solution, effort) : undefined;
  return { ...found, solution: cheaper ?? found.solution, isRidden: cheaper !== undefined };
}

/** Fewer nodes may cost at most this many times the price of more nodes, whatever their number. */
const dearestFew = 1.1;
/** What a node of a plan of few pods counts, as a share of the price of the plan. */
const fewShare = 0.005;
/** The same where the cheapest plan is asked for: at equal price fewer nodes are better. */
const tieShare = 1e-6;

interface BoughtBins extends Omit<Bought, 'lowerBound'> {
  /** Surcharge per bin for the further search, dollars per hour. */
  readonly surcharge: number;
  /** Lower bounds of the price, and of the price with surcharge. */
  readonly bounds: { readonly price: number; readonly withSurcharge: number };
}

/** The cheapest bins, whatever their number. `isTied`: whether fewer count only at equal price. */
export function buyCheapest(problem: BinProblem, pods: number, isTied: boolean): BoughtBins {
  const { lowerBound, ...bought } = buyWithRiding(problem, pods);
  const surcharge = (isTied ? tieShare : fewShare) * bought.solution.price;
  const leastSurcharge = surcharge * leastBins(compileProblem(problem));
  return { ...bought, surcharge, bounds: { price: lowerBound, withSurcharge: lowerBound + leastSurcharge } };
}

/**
 * Bins with a preference for fewer (provisioning/fewest-nodes), or the cheapest if these few cost too much more.
 * `surcharge`: that of earlier bins of the plan.
 */
export function buyFew(problem: BinProblem, pods: number, surcharge?: number): BoughtBins {
  const { perBin: own, lowerBound, leastBins } = surchargeFor(problem);
  const perBin = surcharge ?? own;
  const few = buyWithRiding(withSurcharge(problem, perBin), pods);
  const bounds = { price: lowerBound, withSurcharge: lowerBound + perBin * leastBins };
  const price = priceOf(problem, few.solution);
  if (perBin === 0 || price <= lowerBound * dearestFew) return { ...few, surcharge: perBin, bounds };
  const cheapest = buyWithRiding(problem, pods);
  const { solution } = cheapest;
  const holdsMore = unplacedIn(solution) < unplacedIn(few.solution);
  if (!holdsMore && price <= priceOf(problem, solution) * dearestFew) return { ...few, surcharge: perBin, bounds };
  return { ...cheapest, surcharge: 0, bounds: { price: lowerBound, withSurcharge: cheapest.lowerBound } };
}

/** The price without the surcharge. */
const priceOf = ({ offers }: BinProblem, { bins }: BinSolution): number =>
  bins.reduce((sum, { offer }) => sum + offers.price[offer]!, 0);

const unplacedIn = ({ unplaced }: BinSolution): number => unplaced.reduce((sum, left) => sum + left, 0);
