import { isSameList } from '../lists.js';
import { members, mix, numberSets } from './bits.js';
import type { BinProblem } from './problem.js';

/** Items whose sets are narrowed to the offers that hold them; more cost more than they give. */
const mostRefined = 24;
/** A resource is scarce when at most this share of the items demands it: GPUs, not memory. */
const scarceShare = 0.2;

export interface OfferSets {
  /** The set of each item. */
  readonly of: Int32Array;
  /** The offers of each set, ascending. */
  readonly offersOfSet: readonly Int32Array[];
}

/**
 * Numbers the allowed sets. Where it matters and does not cost much, an item's set is narrowed to the offers that have room for
 * one pod of it, so that offers too small for it do not make its resources look cheap: all items of small problems, and those
 * that demand a scarce resource of large ones.
 */
export function refineSets(problem: BinProblem): OfferSets {
  const { items, offers } = problem;
  const sets = numberSets(items.allowed);
  const offersOfSet = sets.distinct.map((bits) => members(bits, offers.count));
  const of = Int32Array.from(sets.of);
  const refined = itemsToRefine(problem);
  if (refined.length === 0) return { of, offersOfSet };
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
      id = unchanged ? set : numberOf(fitting, offersOfSet, byHash);
      byDemand.set(key, id);
    }
    of[item] = id;
  }
  return withoutUnused(of, offersOfSet);
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

/** Resources that few of the items demand. */
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

function numberOf(fitting: Int32Array, offersOfSet: Int32Array[], byHash: Map<number, number[]>): number {
  const hash = fitting.reduce((sum, o) => mix(sum, o), fitting.length);
  const alike = byHash.get(hash) ?? [];
  const known = alike.find((id) => isSameList(offersOfSet[id]!, fitting));
  if (known !== undefined) return known;
  const id = offersOfSet.push(fitting) - 1;
  byHash.set(hash, [...alike, id]);
  return id;
}

function withoutUnused(of: Int32Array, offersOfSet: readonly Int32Array[]): OfferSets {
  const number = new Map<number, number>();
  const kept: Int32Array[] = [];
  const renumbered = of.map((set) => {
    let id = number.get(set);
    if (id === undefined) {
      id = kept.push(offersOfSet[set]!) - 1;
      number.set(set, id);
    }
    return id;
  });
  return { of: renumbered, offersOfSet: kept };
}
