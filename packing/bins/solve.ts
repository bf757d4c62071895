import type { Relaxation } from './bound.js';
import { relax, tighten } from './bound.js';
import { Builder } from './builder.js';
import type { Compiled } from './compile.js';
import { compile } from './compile.js';
import { LimitLedger } from './limits.js';
import { LocalSearch } from './local-search.js';
import { Market } from './market.js';
import { fillOpenBins } from './open-bins.js';
import type { Packing, Stack } from './plan.js';
import { demandsOf, resourceWorth } from './resource-lp.js';
import { expand, priceOf } from './plan.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';

/** How much dearer, as shares of the plan's price, a limit that left pods out makes what it limits, attempt by attempt. */
const penalties = [0.5, 3, 20, 1000];

/** What is left, as shares of all worth, when the rest is priced anew. */
const stages = [0.5, 0.2, 0];

/** A plan this near to its bound is not searched further. */
const nearEnough = 1.002;

/**
 * Packs every pod that something can hold, at the least price the effort finds. Open bins are filled first. Amounts must be
 * whole numbers for fits to be exact. Equal inputs give equal results; the order of offers and items changes only ties.
 */
export function solveBins(problem: BinProblem, effort: Effort): BinSolution {
  return solveWithBound(problem, effort).solution;
}

/** The same with `lowerBound` of the problem, for less than the work of both. */
export function solveWithBound(problem: BinProblem, effort: Effort): { solution: BinSolution; lowerBound: number } {
  const compiled = compile(problem);
  const first = pack(problem, compiled, effort);
  if (problem.limits.length === 0 || first.missed === 0) {
    return { solution: expand(problem, compiled, first), lowerBound: first.bound };
  }

  // Limits left pods out: count what is limited as dearer, so that bins use less of it.
  let best = { ...first, compiled };
  for (const penalty of penalties) {
    const dearer = compile(penalised(problem, best.compiled, best.stacks, penalty));
    const packing = pack(problem, dearer, effort);
    if (packing.missed < best.missed) best = { ...packing, compiled: dearer };
    if (best.missed === 0) break;
  }
  return { solution: expand(problem, best.compiled, best), lowerBound: first.bound };
}

interface Packed extends Packing {
  readonly bound: number;
  /** Pods that some offer holds but limits left out. */
  readonly missed: number;
}

function pack(problem: BinProblem, compiled: Compiled, effort: Effort): Packed {
  const left = Int32Array.from(compiled.pods);
  const relaxation = relax(problem, compiled);
  const { items, worth } = relaxation;
  const builder = new Builder(new Market(compiled, worth.resource, new LimitLedger(compiled)));
  const { filled } = fillOpenBins(problem, compiled, builder, left);
  const stacks: Stack[] = [];
  construct(builder, relaxation, left, stacks);
  const built = priceOf(compiled, stacks);
  const near = built <= relaxation.bound * nearEnough;
  const tight = near ? undefined : tighten(problem, compiled, relaxation, effort.units);
  const bound = Math.max(relaxation.bound, tight?.bound ?? 0);
  new LocalSearch(builder, stacks).run(effort.units, bound * nearEnough);
  return { stacks, filled, left, bound, missed: items.reduce((sum, item) => sum + left[item]!, 0) };
}

/** Builds bins in stages: what is left is priced anew at each, since the easy pods go first. */
function construct(first: Builder, relaxation: Relaxation, left: Int32Array, stacks: Stack[]): void {
  const { compiled, ledger } = first.market;
  const { items, reach } = relaxation;
  const total = items.reduce((sum, item) => sum + left[item]! * first.market.worth[compiled.shapeOf[item]!]!, 0);
  let builder = first;
  for (const share of stages) {
    builder.construct(items, left, stacks, share * total);
    if (share === 0) return;
    const { resource } = resourceWorth(compiled, demandsOf(compiled, left, items), reach);
    builder = new Builder(new Market(compiled, resource, ledger));
  }
}

/** The problem with offers dearer by what they use of the limits that `stacks` come near to. */
function penalised(problem: BinProblem, compiled: Compiled, stacks: readonly Stack[], penalty: number): BinProblem {
  const { offers, limits } = problem;
  const price = Float64Array.from(offers.price);
  const total = stacks.reduce((sum, stack) => sum + stack.times * offers.price[compiled.offerOrigin[stack.offer]!]!, 0);
  const mean = offers.price.reduce((sum, value) => sum + value, 0) / Math.max(1, offers.count);
  for (const limit of limits) {
    const used = stacks.reduce((sum, stack) => sum + stack.times * limit.use[compiled.offerOrigin[stack.offer]!]!, 0);
    const most = limit.use.reduce((a, b) => Math.max(a, b), 0);
    if (limit.remaining <= 0 || used + most <= limit.remaining) continue;
    const unit = (penalty * Math.max(total, mean)) / limit.remaining;
    for (let o = 0; o < offers.count; o++) price[o] = price[o]! + unit * limit.use[o]!;
  }
  return { ...problem, offers: { ...offers, price } };
}
