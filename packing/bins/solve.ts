import type { Relaxation } from './relaxation.js';
import { relax } from './relaxation.js';
import { Builder } from './builder.js';
import type { CompiledProblem } from './compile.js';
import { compileProblem } from './compile.js';
import { LimitUsage } from './limits.js';
import { Valuation } from './valuation.js';
import type { Packing, BinGroup } from './plan.js';
import { demandsOf, resourceWorth } from './resource-lp.js';
import { expand, priceOf } from './plan.js';
import { joinBins } from './join.js';
import { searchWholeBins, visitsPerUnit } from './whole-bin-search.js';
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

/** Search continues only if the first packing is within this ratio of the effort's `most`. */
const nearMost = 1.03;

/** A packing within this ratio of its bound is not searched further. */
const nearEnough = 1.002;

/**
 * Packs every pod that some bin can hold, at the lowest price found within the effort, and returns a `lowerBound` of
 * the problem. Amounts must be whole numbers for fits to be exact. Equal inputs give equal results.
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
  const first = pack(compiled, effort);
  if (problem.limits.length === 0 || first.missed === 0) return byWholeBins(compiled, first);

  // Limits left pods unplaced: make the offers that use them dearer, so that bins use less of the limits.
  let best = { ...first, compiled };
  const { units } = first;
  for (const penalty of penalties) {
    const dearer = compileProblem(penalised(problem, best.compiled, best.groups, penalty));
    const packing = pack(dearer, { units });
    if (packing.missed < best.missed) best = { ...packing, compiled: dearer };
    if (best.missed === 0) break;
  }
  return { compiled: best.compiled, packing: best, bound: first.relaxation.bound };
}

/**
 * The packing, or a cheaper one by contents of whole bins. These are not searched if the packing is near the bound, the
 * effort is small, or limits leave pods unplaced.
 */
function byWholeBins(compiled: CompiledProblem, packed: Packed): Cheapest {
  const { groups, relaxation, units, missed } = packed;
  const { items, worth, bound } = relaxation;
  const price = priceOf(compiled, groups);
  if (units < wholeBinUnits || missed > 0 || price <= bound * farFromBound) return { compiled, packing: packed, bound };
  const aim = { visits: units * visitsPerUnit, target: bound * nearEnough };
  const found = searchWholeBins(compiled, { groups, items, pods: compiled.pods, worth }, aim);
  const isBetter = found !== undefined && priceOf(compiled, found) < price - 1e-9;
  return { compiled, packing: isBetter ? { ...packed, groups: found } : packed, bound };
}

interface Packed extends Packing {
  readonly relaxation: Relaxation;
  /** Units of work spent on search. */
  readonly units: number;
  /** Number of pods that some offer holds but limits leave unplaced. */
  readonly missed: number;
}

function pack(compiled: CompiledProblem, effort: Effort): Packed {
  const relaxation = relax(compiled);
  const newValuation = (like?: Valuation): Valuation =>
    new Valuation(compiled, relaxation.worth.resource, new LimitUsage(compiled), like);
  const first = new Builder(newValuation());
  let best = build(first, relaxation, stages);
  // Where price is proportional to capacity at every size, few large bins waste less by rounding.
  if (best.price > relaxation.bound * nearEnough) {
    const large = build(new Builder(newValuation(first.valuation), true), relaxation, [0]);
    if (isBetter(large, best)) best = large;
  }
  const units = mayComeBelow(best, effort.most) ? effort.units : 0;
  const { groups, left, missed } = best;
  if (units > 0) joinBins(compiled, groups, best.limitUsage);
  return { groups, left, relaxation, units, missed };
}

/** Whether search may lower the price below `most`. */
function mayComeBelow({ price, missed }: FirstPacking, most = Infinity): boolean {
  return missed === 0 ? price <= most * nearMost : most === Infinity;
}

interface FirstPacking {
  readonly limitUsage: LimitUsage;
  readonly groups: BinGroup[];
  readonly left: Int32Array;
  readonly price: number;
  readonly missed: number;
}

/**
 * Builds bins in stages. Each stage computes the resource worth again, since well-fitting pods are packed first.
 */
function build(first: Builder, { items, reach }: Relaxation, shares: readonly number[]): FirstPacking {
  const { compiled, limitUsage, worth } = first.valuation;
  const left = Int32Array.from(compiled.pods);
  const groups: BinGroup[] = [];
  const total = items.reduce((sum, item) => sum + left[item]! * worth[compiled.shapeOf[item]!]!, 0);
  let builder = first;
  for (const share of shares) {
    builder.construct(items, left, groups, share * total);
    if (share === 0) break;
    const { resource } = resourceWorth(compiled, demandsOf(compiled, left, items), reach);
    builder = new Builder(new Valuation(compiled, resource, limitUsage));
  }
  const missed = items.reduce((sum, item) => sum + left[item]!, 0);
  return { limitUsage, groups, left, price: priceOf(compiled, groups), missed };
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
