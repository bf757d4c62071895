import { isSameList } from '../lists.js';
import { members, mix, numberSets } from './bits.js';
import type { BinProblem } from './problem.js';

/** Maximum number of items whose sets are narrowed to the offers that hold them; more cost more time than they gain. */
const mostRefined = 24;
/** A resource is scarce if at most this share of the items demands it (GPUs, for example). */
const scarceShare = 0.2;

export interface OfferSets {
  /** By item: its set. */
  readonly of: Int32Array;
  /** The offers of each set, ascending. */
  readonly offersOfSet: readonly Int32Array[];
  /** By set: the offers that its items may ride on; absent: none. */
  readonly ridingOfSet?: readonly Int32Array[];
}

/**
 * Numbers the allowed sets. An item's set is narrowed to the offers with room for one pod of it, so that offers too
 * small for it do not make its resources look cheap. Narrowed are all items of small problems, and items that demand a
 * scarce resource in large ones.
 */
export function refineSets(problem: BinProblem): OfferSets {
  const { items, offers } = problem;
  const sets = numberPairs(items.allowed, items.riding);
  const offersOfSet = sets.distinct.map(({ allowed }) => members(allowed, offers.count));
  const ridingOfSet = items.riding && sets.distinct.map(({ riding }) => members(riding!, offers.count));
  const of = Int32Array.from(sets.of);
  const refined = itemsToRefine(problem);
  if (refined.length === 0) return { of, offersOfSet, ...(ridingOfSet && { ridingOfSet }) };
  const byHash = new Map<number, number[]>();
  const byDemand = new Map<string, number>();
  for (const item of refined) {
    const set = sets.of[item]!;
    const demand = items.demand.subarray(item * problem.dimensions, (item + 1) * problem.dimensions);
    const key = `${set}|${demand.join()}`;
    let id = byDemand.get(key);
    if (id === undefined) {
      const fitting = offersOfSet[set]!.filter((o) => fits(problem, demand, o));
      const unchanged = fitting.length === 0 || fitting.length === offersOfSet[set]!.length;
      id = unchanged ? set : numberOf(fitting, offersOfSet, byHash, ridingOfSet, ridingOfSet?.[set]);
      byDemand.set(key, id);
    }
    of[item] = id;
  }
  return withoutUnused(of, offersOfSet, ridingOfSet);
}

/** Numbers the pairs of allowed offers and offers to ride on. */
function numberPairs(
  allowed: readonly Uint32Array[],
  riding: readonly Uint32Array[] | undefined,
): { of: Int32Array; distinct: { allowed: Uint32Array; riding: Uint32Array | undefined }[] } {
  const own = numberSets(allowed);
  if (riding === undefined) {
    return { of: own.of, distinct: own.distinct.map((bits) => ({ allowed: bits, riding: undefined })) };
  }
  const more = numberSets(riding);
  const known = new Map<number, number>();
  const distinct: { allowed: Uint32Array; riding: Uint32Array | undefined }[] = [];
  const of = own.of.map((set, item) => {
    const pair = set * more.distinct.length + more.of[item]!;
    let id = known.get(pair);
    if (id === undefined) {
      known.set(pair, (id = distinct.length));
      distinct.push({ allowed: own.distinct[set]!, riding: more.distinct[more.of[item]!]! });
    }
    return id;
  });
  return { of, distinct };
}

function itemsToRefine(problem: BinProblem): number[] {
  const { items, dimensions } = problem;
  if (items.count <= mostRefined) return Array.from({ length: items.count }, (_, i) => i);
  const scarce = scarceResources(problem);
  const chosen: number[] = [];
  if (scarce.length === 0) return chosen;
  for (let i = 0; i < items.count; i++) {
    if (scarce.some((d) => items.demand[i * dimensions + d]! > 0)) chosen.push(i);
  }
  return new Set(chosen.map((i) => demandKey(problem, i))).size <= mostRefined ? chosen : [];
}

/** Resources that few items demand. */
function scarceResources({ items, dimensions }: BinProblem): number[] {
  const scarce: number[] = [];
  for (let d = 0; d < dimensions; d++) {
    let demanding = 0;
    for (let i = 0; i < items.count; i++) if (items.demand[i * dimensions + d]! > 0) demanding++;
    if (demanding > 0 && demanding <= scarceShare * items.count) scarce.push(d);
  }
  return scarce;
}

function demandKey(problem: BinProblem, item: number): string {
  return problem.items.demand.subarray(item * problem.dimensions, (item + 1) * problem.dimensions).join();
}

function fits(problem: BinProblem, demand: Float64Array, offer: number): boolean {
  const { capacity } = problem.offers;
  for (let d = 0; d < demand.length; d++) if (demand[d]! > capacity[offer * demand.length + d]!) return false;
  return true;
}

function numberOf(
  fitting: Int32Array,
  offersOfSet: Int32Array[],
  byHash: Map<number, number[]>,
  ridingOfSet: Int32Array[] | undefined,
  riding: Int32Array | undefined,
): number {
  const hash = fitting.reduce((sum, o) => mix(sum, o), fitting.length);
  const alike = byHash.get(hash) ?? [];
  const known = alike.find((id) => isSameList(offersOfSet[id]!, fitting) && ridingOfSet?.[id] === riding);
  if (known !== undefined) return known;
  const id = offersOfSet.push(fitting) - 1;
  if (riding !== undefined) ridingOfSet!.push(riding);
  byHash.set(hash, [...alike, id]);
  return id;
}

function withoutUnused(
  of: Int32Array,
  offersOfSet: readonly Int32Array[],
  ridingOfSet: readonly Int32Array[] | undefined,
): OfferSets {
  const number = new Map<number, number>();
  const kept: Int32Array[] = [];
  const riding: Int32Array[] = [];
  const renumbered = of.map((set) => {
    let id = number.get(set);
    if (id === undefined) {
      id = kept.push(offersOfSet[set]!) - 1;
      if (ridingOfSet !== undefined) riding.push(ridingOfSet[set]!);
      number.set(set, id);
    }
    return id;
  });
  return { of: renumbered, offersOfSet: kept, ...(ridingOfSet && { ridingOfSet: riding }) };
}
