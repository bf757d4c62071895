import type { Pod } from '../../api/kubernetes.js';
import type { BinProblem, BinSolution, Effort } from '../bins/problem.js';
import { solveWithBound } from '../bins/solve.js';
import { surchargeFor, withSurcharge } from '../bins/surcharge.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import { ride } from '../bins/riding.js';
import { numberProblem } from '../place/bin-problem.js';
import { exclusionsOf } from '../place/exclusions.js';
import { firstFitDecreasing } from '../bins/first-fit-decreasing.js';
import { openClaimsOf } from '../place/open-claim.js';
import type { Part } from '../place/part.js';
import { lowerBoundOfPlaced } from '../place/lower-bound.js';
import type { Waiting } from './assignment.js';
import { nearEnough, type WorkingPlan } from './working-plan.js';

const fewPods = 600;

/** Units of search after a first packing: in proportion to the pods, so that time is too. Few pods are searched as a whole afterwards. */
const effortFor = (pods: number): Effort => ({
  units: pods <= 500 ? 100_000 : Math.min(400_000, pods * 20),
  visits: pods <= 500 ? 2_000_000 : Math.min(6_000_000, pods * 1600),
});

/** The cheaper of what the search finds and of the fewest bins, which it can miss where there are few pods. */
function buy(problem: BinProblem, pods: number, effort: Effort): { solution: BinSolution; lowerBound: number } {
  const found = solveWithBound(problem, effort);
  const isNear = found.solution.price <= found.lowerBound * nearEnough;
  if (pods > fewPods || isNear || found.solution.unplaced.some((left) => left > 0)) return found;
  const few = firstFitDecreasing(problem);
  return few !== undefined && few.price < found.solution.price ? { ...found, solution: few } : found;
}

interface Bought {
  readonly solution: BinSolution;
  readonly lowerBound: number;
  /** Whether pods ride on nodes that others open: `lowerBound` is of nodes that all their pods open. */
  readonly isRidden: boolean;
}

/** The same, or what is cheaper because pods ride on nodes that others open. */
function buyWithRiding(problem: BinProblem, pods: number): Bought {
  const effort = effortFor(pods);
  const { riding, ...items } = problem.items;
  const found = buy({ ...problem, items }, pods, effort);
  const isAll = found.solution.unplaced.every((left) => left === 0);
  const cheaper = riding !== undefined && isAll ? ride(problem, found.solution, effort) : undefined;
  return { ...found, solution: cheaper ?? found.solution, isRidden: cheaper !== undefined };
}

/** Buys the nodes of a plan, and knows what they cost at least. */
export class NodePurchases {
  private bound = 0;
  /** The same of what nodes count as. */
  private boundWithSurcharge = 0;
  /** Whether pods were put into domains or onto nodes that they might have left to others: `bound` is of the rest then. */
  private chosen = false;
  /** Whether pods could ride on nodes that others open, and whether some do: `bound` is of nodes that all their pods open. */
  private mayRide = false;
  private doRide = false;
  /** How often nodes were bought: what each of several purchases costs at least is no bound of them together, for pods of both may share nodes. */
  private count = 0;
  /** The last bound that was computed from the placed pods alone. */
  private known:
    { readonly placed: ReadonlyMap<PodClass, number>; readonly surcharge: number; readonly bound: number } | undefined;
  /** Whether pods were left over once their domains were decided. */
  isShort = false;

  constructor(private readonly working: WorkingPlan) {}

  /** Buys nodes for the parts; returns what limits left over, to be tried in other pools. */
  launch(parts: readonly Part[]): Waiting[] {
    if (parts.length === 0) return [];
    const { working } = this;
    const exclusions = exclusionsOf(parts, working.book);
    const { problem, rowOfOffer, perNode } = numberProblem(working.compiled, parts, exclusions, working.limits, {
      riding: true,
    });
    const units = parts.reduce((sum, { count }) => sum + count, 0);
    this.chosen ||= parts.some(({ pinnedKeys, together }) => together || pinnedKeys.length > 0);
    const { solution, bounds, isRidden } = this.buy(problem, units);
    this.mayRide ||= problem.items.riding !== undefined;
    this.doRide ||= isRidden;
    // No plan has more nodes than pods, so the premium is at most that much of the bound.
    this.bound += Math.max(0, bounds.price - perNode * units);
    this.boundWithSurcharge += bounds.withSurcharge;
    this.count++;
    const bins = solution.bins.map(({ offer, items, pods }) => ({ row: rowOfOffer[offer]!, items, units: pods }));
    const { claims, given } = openClaimsOf(parts, bins);
    for (const claim of claims) {
      working.charge(claim.row, 1);
      working.claims.push(claim);
    }
    return this.leftOver(parts, given);
  }

  /** The bins, with bounds of what they cost and of what they count as. */
  private buy(
    problem: BinProblem,
    units: number,
  ): Omit<Bought, 'lowerBound'> & { bounds: { readonly price: number; readonly withSurcharge: number } } {
    const { working } = this;
    if (working.isCheapest) {
      const { lowerBound, ...bought } = buyWithRiding(problem, units);
      return { ...bought, bounds: { price: lowerBound, withSurcharge: lowerBound } };
    }
    const { perBin, lowerBound: price } = surchargeFor(problem);
    working.surcharge ??= perBin;
    const { lowerBound, ...bought } = buyWithRiding(withSurcharge(problem, working.surcharge), units);
    return { ...bought, bounds: { price, withSurcharge: lowerBound } };
  }

  private leftOver(parts: readonly Part[], given: Int32Array): Waiting[] {
    const { working } = this;
    const waiting = new Map<PodClass, Pod[]>();
    const full = new Set<Profile>();
    parts.forEach((part, item) => {
      const left = part.count - given[item]!;
      if (left === 0) return;
      for (const profile of part.profiles) full.add(profile);
      for (const { podClass, level, pods } of part.members) {
        const rest = part.together ? pods : pods.slice(given[item]);
        const there = waiting.get(podClass);
        if (there === undefined) waiting.set(podClass, [...rest]);
        else there.push(...rest);
        working.uncount(part.profiles[0]!, podClass, level, rest.length);
      }
    });
    if (full.size === 0) return [];
    this.isShort = true;
    const before = working.exhausted.size;
    for (const profile of full) working.exhausted.add(profile);
    const list = [...waiting].map(([podClass, pods]) => ({ podClass, pods }));
    if (working.exhausted.size > before) return list;
    for (const { podClass, pods } of list) working.unplaced.add(podClass, pods);
    return [];
  }

  /** What the pods that are placed cost at least, dollars per hour. */
  lowerBound(placed: ReadonlyMap<PodClass, number>): number {
    return this.boundOf(placed, this.mayRide, false);
  }

  /** The same of what nodes count as, for a search that ends near it: where riding saved nothing as if no pod could. */
  boundToSearchFor(): number {
    return this.boundOf(this.working.placed(), this.doRide, true);
  }

  private boundOf(placed: ReadonlyMap<PodClass, number>, withRiding: boolean, isSurcharged: boolean): number {
    const { compiled, feasibility, book, nodes, free } = this.working;
    const isCovered = compiled.coverage.open.length > 0;
    const isWhole = !isCovered && !this.chosen && !withRiding && this.count <= 1;
    if (isWhole && nodes.every(({ pods }) => pods.length === 0))
      return isSurcharged ? this.boundWithSurcharge : this.bound;
    const surcharge = isSurcharged ? (this.working.surcharge ?? 0) : 0;
    const { known } = this;
    if (known?.surcharge === surcharge && hasSamePods(known.placed, placed)) return known.bound;
    const bound = lowerBoundOfPlaced({ compiled, feasibility, book, nodes, free }, placed, surcharge);
    this.known = { placed, surcharge, bound };
    return bound;
  }
}

const hasSamePods = (a: ReadonlyMap<PodClass, number>, b: ReadonlyMap<PodClass, number>): boolean =>
  a.size === b.size && [...a].every(([podClass, pods]) => b.get(podClass) === pods);
