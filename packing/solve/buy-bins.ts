import { cheapestForAll } from '../bins/one-bin.js';
import type { BinProblem, BinSolution, Effort } from '../bins/problem.js';
import { ride } from '../bins/riding.js';
import { solveWithBound } from '../bins/solve.js';
import { surchargeFor, withSurcharge } from '../bins/surcharge.js';
import { nearEnough } from './working-plan.js';

/** Search after a first packing: proportional to the pods, so that time is too. */
const effortFor = (pods: number): Effort => ({
  units: pods <= 500 ? 200_000 : Math.min(1_200_000, pods * 320),
});

/** Up to so many pods the cheapest bins are bought; a bin counts a share of the price of all in the further search. */
const fewPods = 100;
const fewShare = 0.005;
/** The same where the cheapest plan is asked for: at equal price fewer bins are better. */
const tieShare = 1e-6;
/** Fewer nodes may cost at most this many times the price of the first packing, which is made without surcharge. */
const dearestFew = 1.1;

interface Bought {
  readonly solution: BinSolution;
  /** Surcharge per bin for the further search, dollars per hour. */
  readonly surcharge: number;
}

/**
 * Bins for all items, with a preference for fewer (provisioning/fewest-nodes), or the cheapest if these few cost too
 * much more. `known`: the surcharge of earlier bins of the plan; `isTied`: whether fewer count only at equal price.
 */
export function buyBins(problem: BinProblem, pods: number, known: number | undefined, isTied: boolean): Bought {
  if (isTied || pods <= fewPods) {
    const solution = searched(problem, pods);
    return { solution, surcharge: known ?? (isTied ? tieShare : fewShare) * solution.price };
  }
  const first = solveWithBound(problem, { units: 0 }).solution;
  const surcharge = known ?? surchargeFor(problem, first);
  const solution = searched(withSurcharge(problem, surcharge), pods);
  const price = solution.bins.reduce((sum, { offer }) => sum + problem.offers.price[offer]!, 0);
  const isDear = price > first.price * dearestFew && countUnplaced(first) <= countUnplaced(solution);
  return isDear ? { solution: searched(problem, pods), surcharge: 0 } : { solution, surcharge };
}

/** The result of the search: of one bin for everything, which it can miss with few pods, and of riding too. */
function searched(problem: BinProblem, pods: number): BinSolution {
  const effort = effortFor(pods);
  const { riding, ...items } = problem.items;
  const found = inOneIfCheaper({ ...problem, items }, solveWithBound({ ...problem, items }, effort));
  return (riding !== undefined && countUnplaced(found) === 0 ? ride(problem, found, effort) : undefined) ?? found;
}

function inOneIfCheaper(
  problem: BinProblem,
  { solution, lowerBound }: { readonly solution: BinSolution; readonly lowerBound: number },
): BinSolution {
  if (solution.price <= lowerBound * nearEnough || countUnplaced(solution) > 0) return solution;
  const offer = cheapestForAll(problem);
  const price = offer === undefined ? Infinity : problem.offers.price[offer]!;
  if (offer === undefined || price >= solution.price) return solution;
  const { count, pods } = problem.items;
  const bin = { offer, items: Int32Array.from({ length: count }, (_, item) => item), pods };
  return { bins: [bin], unplaced: new Int32Array(count), price };
}

const countUnplaced = ({ unplaced }: BinSolution): number => unplaced.reduce((sum, left) => sum + left, 0);
