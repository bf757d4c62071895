import { compileProblem } from '../bins/compile.js';
import { cheapestForAll } from '../bins/one-bin.js';
import type { BinProblem, BinSolution, Effort } from '../bins/problem.js';
import { ride } from '../bins/riding.js';
import { solveWithBound } from '../bins/solve.js';
import { isBetterFor, type FoundNodes, leastBins, surchargeFor, withSurcharge } from '../bins/surcharge.js';
import { nearEnough } from './working-plan.js';

/** A second packing is tried for up to this many pods. */
const fewPods = 600;

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
function buyWithRiding(problem: BinProblem, pods: number, effort = effortFor(pods)): Bought {
  const { riding, ...items } = problem.items;
  const found = buy({ ...problem, items }, effort);
  const isAll = found.solution.unplaced.every((left) => left === 0);
  const cheaper = riding !== undefined && isAll ? ride(problem, found.solution, effort) : undefined;
  return { ...found, solution: cheaper ?? found.solution, isRidden: cheaper !== undefined };
}

/**
 * The first search uses this many times the surcharge: with the surcharge itself it misses packings with fewer bins.
 */
const firstTimes = 2;
/** A packing above this many times its lower bound is compared with the cheapest. */
const farFromBound = 1.15;

interface BoughtBins extends Omit<Bought, 'lowerBound'> {
  /** Surcharge per bin for the further search, dollars per hour. */
  readonly surcharge: number;
  /** Lower bounds of the price, and of the price with surcharge. */
  readonly bounds: { readonly price: number; readonly withSurcharge: number };
}

/**
 * Surcharge per node of a plan that is searched as a whole, as a share of the price: at equal price fewer nodes are
 * better.
 */
const tieShare = 1e-6;

/**
 * The cheapest bins, whatever their number. `isFirst`: without search, because the plan will be searched as a whole.
 */
export function buyCheapest(problem: BinProblem, pods: number, isFirst: boolean): BoughtBins {
  const { lowerBound, ...bought } = buyWithRiding(problem, pods, isFirst ? { units: 0 } : undefined);
  const surcharge = isFirst ? tieShare * bought.solution.price : 0;
  const leastSurcharge = isFirst ? surcharge * leastBins(compileProblem(problem)) : 0;
  return { ...bought, surcharge, bounds: { price: lowerBound, withSurcharge: lowerBound + leastSurcharge } };
}

/**
 * Bins with a preference for fewer (provisioning/fewest-nodes). First searched with twice the surcharge. With few pods,
 * the search is repeated with the surcharge itself, unless the price is near its bound; if it is far from it, the
 * cheapest bins are searched instead. The better packing is taken. `surcharge`: that of earlier bins of the plan.
 */
export function buyFew(problem: BinProblem, pods: number, surcharge?: number): BoughtBins {
  const { perBin: own, lowerBound, leastBins } = surchargeFor(problem);
  const perBin = surcharge ?? own;
  const buyFor = (times: number): Bought => buyWithRiding(withSurcharge(problem, times * perBin), pods);
  const few = buyFor(firstTimes);
  if (perBin === 0) return described(few, 0, { price: lowerBound, withSurcharge: few.lowerBound });
  const ofFew = foundBy(problem, few);
  const isFar = ofFew.price > lowerBound * farFromBound;
  const isNear = ofFew.price <= lowerBound * nearEnough;
  const boundsOfFew = { price: lowerBound, withSurcharge: lowerBound + perBin * leastBins };
  if (isNear || (pods > fewPods && !isFar)) return described(few, perBin, boundsOfFew);
  const times = isFar ? 0 : 1;
  const cheaper = buyFor(times);
  if (!isBetterFor(perBin, foundBy(problem, cheaper), ofFew)) return described(few, perBin, boundsOfFew);
  return described(cheaper, times * perBin, { price: lowerBound, withSurcharge: cheaper.lowerBound });
}

const described = ({ solution, isRidden }: Bought, surcharge: number, bounds: BoughtBins['bounds']): BoughtBins => ({
  solution,
  isRidden,
  surcharge,
  bounds,
});

/** The price without the surcharge. */
function foundBy({ offers }: BinProblem, { solution: { bins, unplaced } }: Bought): FoundNodes {
  return {
    unplaced: unplaced.reduce((sum, left) => sum + left, 0),
    price: bins.reduce((sum, { offer }) => sum + offers.price[offer]!, 0),
    nodes: bins.length,
  };
}
