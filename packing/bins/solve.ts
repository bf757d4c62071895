import type { Relaxation } from './relaxation.js';
import { relax } from './relaxation.js';
import { Builder, type BinBudget } from './builder.js';
import type { CompiledProblem } from './compile.js';
import { compileProblem } from './compile.js';
import { LimitUsage } from './limits.js';
import { LocalSearch } from './local-search.js';
import { Valuation, worthOfShapes } from './valuation.js';
import { fillOpenBins } from './open-bins.js';
import type { Packing, BinGroup } from './plan.js';
import { demandsOf, resourceWorth, type FeasibleWorth } from './resource-lp.js';
import { expand, priceOf } from './plan.js';
import { joinBins } from './join.js';
import { searchWholeBins } from './whole-bin-search.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';

/**
 * If a limit leaves pods unplaced, the offers that use it are made dearer by these shares of the packing's price,
 * attempt by attempt.
 */
const penalties = [0.5, 3, 20, 1000];

/** Shares of the total worth left at which the resource worth is computed again for the remaining pods. */
const stages = [0.5, 0.2, 0];

/** With at least this effort, packings far above their bound are searched by contents of whole bins. */
const wholeBinUnits = 10_000;
const farFromBound = 1.01;
const visitsPerUnit = 10;
/** Share of the effort for local search if contents of whole bins are searched afterwards. */
const localShare = 0.25;

/** Search continues only if the first packing is within this ratio of the effort's `most`. */
const nearMost = 1.03;

/** A packing within this ratio of its bound is not searched further. */
const nearEnough = 1.002;

/**
 * Packs every pod that some bin can hold, at the lowest price found within the effort, and returns a `lowerBound` of
 * the problem. Open bins are filled first. Amounts must be whole numbers for fits to be exact. Equal inputs give equal
 * results; the order of offers and items affects only ties.
 */
export function solveWithBound(
  problem: BinProblem,
  effort: Effort,
  compiled = compileProblem(problem),
): { solution: BinSolution; lowerBound: number } {
  const { bound, packing, ...made } = cheapest(problem, compiled, effort);
  return { solution: expand(problem, made.compiled, packing), lowerBound: bound };
}

interface Cheapest {
  readonly compiled: CompiledProblem;
  readonly packing: Packed;
  readonly bound: number;
}

function cheapest(problem: BinProblem, compiled: CompiledProblem, effort: Effort): Cheapest {
  const first = pack(problem, compiled, effort);
  if (problem.limits.length === 0 || first.missed === 0) return narrowed(problem, compiled, first);

  // Limits left pods unplaced: make the offers that use them dearer, so that bins use less of the limits.
  let best = { ...first, compiled };
  const { units } = first;
  for (const penalty of penalties) {
    const dearer = compileProblem(penalised(problem, best.compiled, best.groups, penalty));
    const packing = pack(problem, dearer, { units });
    if (packing.missed < best.missed) best = { ...packing, compiled: dearer };
    if (best.missed === 0) break;
  }
  return { compiled: best.compiled, packing: best, bound: first.bound };
}

/**
 * Solves again without the offers that cost more than the whole packing found. No cheaper packing can use them, and
 * without them the resource worth reflects small bins. If contents of whole bins are searched anyway, only the bound is
 * computed without them.
 */
function narrowed(problem: BinProblem, compiled: CompiledProblem, first: Packed): Cheapest {
  const price = priceOf(compiled, first.groups);
  const dearest = compiled.price.at(-1) ?? 0;
  const { units } = first;
  if (units === 0 || price >= dearest || price <= first.bound * nearEnough)
    return byWholeBins(compiled, first, first.bound);
  const fewer = compileProblem(problem, price, compiled);
  if (units >= wholeBinUnits) {
    const bound = Math.max(first.bound, Math.min(relax(problem, fewer).bound, price));
    return byWholeBins(compiled, first, bound);
  }
  const second = pack(problem, fewer, { units });
  const bound = Math.max(first.bound, Math.min(second.bound, price));
  const better = second.missed === 0 && priceOf(fewer, second.groups) < price - 1e-9;
  const best = better ? { compiled: fewer, packing: second } : { compiled, packing: first };
  return { ...best, bound };
}

/**
 * The packing, or a cheaper one by contents of whole bins. These are not searched if the packing is near the bound, the
 * effort is small, or limits leave pods unplaced.
 */
function byWholeBins(compiled: CompiledProblem, packed: Packed, bound: number): Cheapest {
  const { groups, items, afterOpen: pods, worth, units, visits, missed } = packed;
  const price = priceOf(compiled, groups);
  if (units < wholeBinUnits || missed > 0 || price <= bound * farFromBound) return { compiled, packing: packed, bound };
  const aim = { units, visits, target: bound * nearEnough };
  const found = searchWholeBins(compiled, { groups, items, pods, worth }, aim);
  const isBetter = found !== undefined && priceOf(compiled, found) < price - 1e-9;
  return { compiled, packing: isBetter ? { ...packed, groups: found } : packed, bound };
}

interface Packed extends Packing {
  /** Items that some offer holds, and those of their pods that do not fit into open bins. */
  readonly items: Int32Array;
  readonly afterOpen: Int32Array;
  /** Worth of resources and caps; see `resourceWorth`. */
  readonly worth: FeasibleWorth;
  readonly bound: number;
  /** Units of work spent on search. */
  readonly units: number;
  readonly visits: number;
  /** Number of pods that some offer holds but limits leave unplaced. */
  readonly missed: number;
}

function pack(problem: BinProblem, compiled: CompiledProblem, effort: Effort): Packed {
  const relaxation = relax(problem, compiled);
  const afterOpen = Int32Array.from(compiled.pods);
  let { worth } = relaxation;
  const newValuation = (like?: Valuation): Valuation =>
    new Valuation(compiled, worth.resource, new LimitUsage(compiled), like);
  let opener = new Builder(newValuation());
  const filled = fillOpenBins(problem, compiled, opener, relaxation.items, afterOpen);
  if (filled.length > 0) {
    worth = resourceWorth(compiled, demandsOf(compiled, afterOpen, relaxation.items), relaxation.reach);
    opener = new Builder(newValuation());
  }

  const { bound } = relaxation;
  let best = build(opener, relaxation, afterOpen, stages)!;
  // Where price is proportional to capacity at every size, few large bins waste less by rounding.
  if (best.price > bound * nearEnough) {
    // If all pods are placed, only a cheaper packing is better.
    const worthOfPods = worthOfShapes(compiled, relaxation.proven.resource);
    const budget = best.missed > 0 ? undefined : { price: best.price * (1 + 1e-7), worth: worthOfPods };
    const large = build(new Builder(newValuation(opener.valuation), true), relaxation, afterOpen, [0], budget);
    if (large !== undefined && isBetter(large, best)) best = large;
  }
  const units = mayComeBelow(best, effort.most) ? effort.units : 0;
  const { groups, left, missed } = best;
  const isSearchedOn = units >= wholeBinUnits && missed === 0;
  new LocalSearch(best.builder, groups).run(isSearchedOn ? units * localShare : units, bound * nearEnough);
  if (units > 0) joinBins(compiled, groups, best.builder.valuation.limitUsage);
  const visits = effort.visits ?? units * visitsPerUnit;
  return { groups, filled, left, bound, units, visits, missed, items: relaxation.items, afterOpen, worth };
}

/** Whether local search may lower the price below `most`. */
function mayComeBelow({ price, missed }: FirstPacking, most = Infinity): boolean {
  return missed === 0 ? price <= most * nearMost : most === Infinity;
}

interface FirstPacking {
  readonly builder: Builder;
  readonly groups: BinGroup[];
  readonly left: Int32Array;
  readonly price: number;
  readonly missed: number;
}

/**
 * Builds bins in stages. Each stage computes the resource worth again, since well-fitting pods are packed first.
 * Undefined if the packing exceeds the budget.
 */
function build(
  first: Builder,
  { items, reach }: Relaxation,
  pods: Int32Array,
  shares: readonly number[],
  budget?: BinBudget,
): FirstPacking | undefined {
  const { compiled, limitUsage, worth } = first.valuation;
  const left = Int32Array.from(pods);
  const groups: BinGroup[] = [];
  const total = items.reduce((sum, item) => sum + left[item]! * worth[compiled.shapeOf[item]!]!, 0);
  let builder = first;
  for (const share of shares) {
    if (!builder.construct(items, left, groups, { rest: share * total, budget })) return undefined;
    if (share === 0) break;
    const { resource } = resourceWorth(compiled, demandsOf(compiled, left, items), reach);
    builder = new Builder(new Valuation(compiled, resource, limitUsage));
  }
  const missed = items.reduce((sum, item) => sum + left[item]!, 0);
  return { builder: first, groups, left, price: priceOf(compiled, groups), missed };
}

const isBetter = (a: FirstPacking, b: FirstPacking): boolean =>
  a.missed < b.missed || (a.missed === b.missed && a.price < b.price - 1e-9);

/** The problem with higher prices for offers that use nearly exhausted limits. */
function penalised(
  problem: BinProblem,
  compiled: CompiledProblem,
  groups: readonly BinGroup[],
  penalty: number,
): BinProblem {
  const { offers, limits } = problem;
  const price = Float64Array.from(offers.price);
  const total = groups.reduce((sum, group) => sum + group.times * offers.price[compiled.offerOrigin[group.offer]!]!, 0);
  const mean = offers.price.reduce((sum, value) => sum + value, 0) / Math.max(1, offers.count);
  for (const limit of limits) {
    const used = groups.reduce((sum, group) => sum + group.times * limit.use[compiled.offerOrigin[group.offer]!]!, 0);
    const most = limit.use.reduce((a, b) => Math.max(a, b), 0);
    if (limit.remaining <= 0 || used + most <= limit.remaining) continue;
    const unit = (penalty * Math.max(total, mean)) / limit.remaining;
    for (let o = 0; o < offers.count; o++) price[o] = price[o]! + unit * limit.use[o]!;
  }
  return { ...problem, offers: { ...offers, price } };
}
