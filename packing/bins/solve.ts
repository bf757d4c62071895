import type { Relaxation } from './relaxation.js';
import { relax, tighten } from './relaxation.js';
import { Builder, type BinBudget } from './builder.js';
import type { CompiledProblem } from './compile.js';
import { compileProblem } from './compile.js';
import { LimitLedger } from './limits.js';
import { LocalSearch } from './local-search.js';
import { Market, worthOfShapes } from './market.js';
import { fillOpenBins } from './open-bins.js';
import { packPatterns } from './patterns.js';
import type { Packing, Stack } from './plan.js';
import { demandsOf, resourceWorth } from './resource-lp.js';
import { binsIn, expand, priceOf } from './plan.js';
import { joinBins } from './join.js';
import { withFewerBins } from './fewer.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';

/** How much dearer, as shares of the plan's price, a limit that left pods out makes what it limits, attempt by attempt. */
const penalties = [0.5, 3, 20, 1000];

/** What is left, as shares of all worth, when the rest is priced anew. */
const stages = [0.5, 0.2, 0];

/** Effort from which on packings far from their bound are tried by patterns of whole bins. */
const patternUnits = 10_000;
const farFromBound = 1.02;
/** A packing by patterns up to this much dearer may end cheaper once it is searched. */
const nearlyAsCheap = 1.01;

/** How near, as a share, bins built one by one must come to `most` of the effort. */
const nearby = 1.03;

/** How much search for fewer bins there is, as a share of that for the cheapest ones. */
const fewerShare = 0.5;

/** A plan this near to its bound is not searched further. */
const nearEnough = 1.002;

/**
 * Packs every pod that something can hold, at the least price the effort finds, with a `lowerBound` of the problem. Open bins are filled first.
 * Amounts must be whole numbers for fits to be exact. Equal inputs give equal results; the order of offers and items changes only ties.
 */
export function solveWithBound(problem: BinProblem, effort: Effort): { solution: BinSolution; lowerBound: number } {
  const { compiled, packing, bound, isBoundByLimits } = cheapest(problem, effort);
  const isFinal = isBoundByLimits || effort.fewest === undefined || binsIn(packing.stacks) < 2;
  const again = (dearer: CompiledProblem): readonly Stack[] | undefined => {
    const { stacks, missed } = pack(problem, dearer, { units: effort.units * fewerShare });
    // Fewer, larger bins may use more of a limit.
    return missed > packing.missed ? undefined : stacks;
  };
  const upTo = effort.fewest ?? 1;
  const stacks = isFinal ? packing.stacks : withFewerBins({ compiled, stacks: packing.stacks, upTo }, again);
  return { solution: expand(problem, compiled, { ...packing, stacks }), lowerBound: bound };
}

interface Cheapest {
  readonly compiled: CompiledProblem;
  readonly packing: Packed;
  readonly bound: number;
  /** Whether limits left pods out of the cheapest packing, so that what they limit was counted as dearer. */
  readonly isBoundByLimits: boolean;
}

function cheapest(problem: BinProblem, effort: Effort): Cheapest {
  const compiled = compileProblem(problem);
  const first = pack(problem, compiled, effort);
  if (problem.limits.length === 0 || first.missed === 0) return narrowed(problem, compiled, first);

  // Limits left pods out: count what is limited as dearer, so that bins use less of it.
  let best = { ...first, compiled };
  const { units } = first;
  for (const penalty of penalties) {
    const dearer = compileProblem(penalised(problem, best.compiled, best.stacks, penalty));
    const packing = pack(problem, dearer, { units });
    if (packing.missed < best.missed) best = { ...packing, compiled: dearer };
    if (best.missed === 0) break;
  }
  return { compiled: best.compiled, packing: best, bound: first.bound, isBoundByLimits: true };
}

/**
 * Tries again without the offers that cost more than the whole packing found: they have no part in a cheaper one, and without
 * them prices of resources are those of small bins.
 */
function narrowed(problem: BinProblem, compiled: CompiledProblem, first: Packed): Cheapest {
  const price = priceOf(compiled, first.stacks);
  const dearest = compiled.price.at(-1) ?? 0;
  const { units } = first;
  if (units === 0 || price >= dearest || price <= first.bound * nearEnough) {
    const packing = byPatterns(compiled, first, first.bound);
    return { compiled, packing, bound: first.bound, isBoundByLimits: false };
  }
  const fewer = compileProblem(problem, price, compiled);
  const second = pack(problem, fewer, { units });
  const bound = Math.max(first.bound, Math.min(second.bound, price));
  const better = second.missed === 0 && priceOf(fewer, second.stacks) < price - 1e-9;
  const best = better ? { compiled: fewer, packed: second } : { compiled, packed: first };
  const packing = byPatterns(best.compiled, best.packed, bound);
  return { compiled: best.compiled, packing, bound, isBoundByLimits: false };
}

/** The packing, or a cheaper one by patterns of whole bins, which know what caps ask for better than single bins do. */
function byPatterns(compiled: CompiledProblem, packed: Packed, bound: number): Packed {
  const price = priceOf(compiled, packed.stacks);
  // Without caps and limits bins built one by one are as good, and fewer.
  const isCapped = compiled.capMax.length > 0 || compiled.limitRemaining.length > 0;
  if (!isCapped || packed.units < patternUnits || packed.missed > 0 || price <= bound * farFromBound) return packed;
  const found = packPatterns(compiled, packed.items, packed.afterOpen, { known: packed.stacks, price });
  if (found === undefined || priceOf(compiled, found) >= price * nearlyAsCheap) return packed;
  const most = binsIn(packed.stacks);
  const ledger = new LimitLedger(compiled);
  for (const { offer, times } of found) {
    if (ledger.most(offer) < times) return packed;
    ledger.use(offer, times);
  }
  const builder = new Builder(new Market(compiled, packed.worth, ledger));
  new LocalSearch(builder, found).run(packed.units, bound * nearEnough);
  joinBins(compiled, found, ledger);
  // Many small bins for a little less are nobody's gain.
  return priceOf(compiled, found) < price - 1e-9 && binsIn(found) <= most ? { ...packed, stacks: found } : packed;
}

interface Packed extends Packing {
  /** Items that some offer holds, and their pods that open bins have no room for. */
  readonly items: Int32Array;
  readonly afterOpen: Int32Array;
  /** Of resources; see `resourceWorth`. */
  readonly worth: Float64Array;
  readonly bound: number;
  /** Of search, which it was worth. */
  readonly units: number;
  /** Pods that some offer holds but limits left out. */
  readonly missed: number;
}

function pack(problem: BinProblem, compiled: CompiledProblem, effort: Effort): Packed {
  const relaxation = relax(problem, compiled);
  const afterOpen = Int32Array.from(compiled.pods);
  let { worth } = relaxation;
  const newMarket = (options?: ConstructorParameters<typeof Market>[3]): Market =>
    new Market(compiled, worth.resource, new LimitLedger(compiled), options);
  let opener = new Builder(newMarket());
  const filled = fillOpenBins(problem, compiled, opener, relaxation.items, afterOpen);
  if (filled.length > 0) {
    worth = resourceWorth(compiled, demandsOf(compiled, afterOpen, relaxation.items), relaxation.reach);
    opener = new Builder(newMarket());
  }

  let best = start(opener, relaxation, afterOpen, stages)!;
  let bound = relaxation.bound;
  const provenWorth = worthOfShapes(compiled, relaxation.proven.resource);
  const improve = (builder: Builder): void => {
    // What leaves nothing out cannot be bettered by what costs more.
    const budget = best.missed > 0 ? undefined : { price: best.price * (1 + 1e-7), worth: provenWorth };
    const other = start(builder, relaxation, afterOpen, [0], budget);
    if (other === undefined) return;
    if (other.missed < best.missed || (other.missed === best.missed && other.price < best.price - 1e-9)) best = other;
  };
  // Few large bins round less up where every size costs the same.
  if (best.price > bound * nearEnough) improve(new Builder(newMarket({ like: opener.market }), true));
  const units = isHopeful(best, effort.most) ? effort.units : 0;
  if (best.price > bound * nearEnough && opener.work * 4 < units) {
    improve(new Builder(newMarket({ like: opener.market })));
    const tight = tighten(problem, compiled, relaxation, units);
    if (tight !== undefined) {
      bound = Math.max(bound, tight.bound);
      improve(new Builder(newMarket({ like: opener.market, values: tight })));
    }
  }
  const { stacks, left, missed } = best;
  const { ledger } = best.builder.market;
  // Fewer bins to begin with waste less, and those that nothing betters may be joined in the end.
  if (units > 0) joinBins(compiled, stacks, ledger);
  new LocalSearch(best.builder, stacks).run(units, bound * nearEnough);
  if (units > 0) joinBins(compiled, stacks, ledger);
  return { stacks, filled, left, bound, units, missed, items: relaxation.items, afterOpen, worth: worth.resource };
}

/** Whether search may bring a packing below `most`. */
function isHopeful({ price, missed }: Start, most = Infinity): boolean {
  return missed === 0 ? price <= most * nearby : most === Infinity;
}

interface Start {
  readonly builder: Builder;
  readonly stacks: Stack[];
  readonly left: Int32Array;
  readonly price: number;
  readonly missed: number;
}

/** Builds bins in stages: what is left is priced anew at each, since the easy pods go first. Undefined where the budget does not do. */
function start(
  first: Builder,
  relaxation: Relaxation,
  pods: Int32Array,
  shares: readonly number[],
  budget?: BinBudget,
): Start | undefined {
  const { compiled, ledger, worth } = first.market;
  const { items, reach } = relaxation;
  const left = Int32Array.from(pods);
  const stacks: Stack[] = [];
  const total = items.reduce((sum, item) => sum + left[item]! * worth[compiled.shapeOf[item]!]!, 0);
  let builder = first;
  for (const share of shares) {
    if (!builder.construct(items, left, stacks, { rest: share * total, budget })) return undefined;
    if (share === 0) break;
    const { resource } = resourceWorth(compiled, demandsOf(compiled, left, items), reach);
    builder = new Builder(new Market(compiled, resource, ledger));
  }
  const missed = items.reduce((sum, item) => sum + left[item]!, 0);
  return { builder: first, stacks, left, price: priceOf(compiled, stacks), missed };
}

/** The problem with offers dearer by what they use of the limits that `stacks` come near to. */
function penalised(
  problem: BinProblem,
  compiled: CompiledProblem,
  stacks: readonly Stack[],
  penalty: number,
): BinProblem {
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
