import type { BinProblem } from './problem.js';
import type { OfferSets } from './refine-sets.js';
import type { SearchOrder } from './search-order.js';

/** The offers that remain, by ascending price, in the used dimensions and sets. */
export interface KeptOffers {
  readonly offers: number;
  readonly price: Float64Array;
  readonly capacity: Float64Array;
  /** Index in the problem. */
  readonly offerOrigin: Int32Array;
  /** What one bin uses of each limit: `limitUse[limit * offers + offer]`. */
  readonly limitUse: Float64Array;
  readonly limitRemaining: Float64Array;
  /** Kept offers of each set, by ascending price. */
  readonly offersOfSet: readonly Int32Array[];
  /** `inSet[offer * sets + set]`. */
  readonly inSet: Uint8Array;
  readonly supply: Supplies;
  /** The same for problems in which items may ride on bins that other items open; absent: none may. */
  readonly riding?: Riding;
}

/** Offers where items may ride on bins that other items open. */
interface Riding {
  /** Kept offers of each set, including those that its items may only ride on. */
  readonly offersOfSet: readonly Int32Array[];
  readonly inSet: Uint8Array;
  readonly supply: Supplies;
}

/** Offers that the same sets admit. Bins of one supply compete for the same items. */
export interface Supplies {
  readonly count: number;
  readonly of: Int32Array;
  /** Sets that each supply serves, ascending. */
  readonly sets: readonly (readonly number[])[];
}

/**
 * Drops every offer that no item may use, whose capacity is negative, or that is dominated: another offer with the same
 * allowed items is no dearer, no smaller, and uses no more of any limit. Any packing that costs at most `ceiling` can
 * be made of the remaining offers at no higher price.
 */
export function keepOffers(
  problem: BinProblem,
  dimensions: readonly number[],
  { offersOfSet, ridingOfSet }: OfferSets,
  order: SearchOrder,
  ceiling: number,
): KeptOffers {
  const { offers, limits } = problem;
  const own = signatures(offers.count, offersOfSet);
  const signature = ridingOfSet === undefined ? own : signatures(offers.count, [...offersOfSet, ...ridingOfSet]);
  const groups = new Map<number, Frontier>();
  const list = new Int32Array(offers.count);
  let found = 0;
  for (let k = 0; k < order.offers.length; k++) {
    const o = order.offers[k]!;
    const id = signature[o]!;
    if (own[o] === 0 || offers.price[o]! > ceiling || overdrawn(problem, o)) continue;
    let frontier = groups.get(id);
    if (frontier === undefined) groups.set(id, (frontier = new Frontier(problem, dimensions)));
    if (frontier.admit(o)) list[found++] = o;
  }
  const kept = list.slice(0, found);
  const membership = membershipOf(kept, offers.count, offersOfSet);
  return {
    offers: found,
    ...amountsOf(problem, dimensions, kept),
    offerOrigin: kept,
    limitRemaining: Float64Array.from(limits, (limit) => limit.remaining),
    ...membership,
    supply: supplies(kept, own, membership.inSet, offersOfSet.length),
    ...(ridingOfSet && { riding: ridingIn(kept, offers.count, ridingOfSet, signature) }),
  };
}

function ridingIn(kept: Int32Array, count: number, ridingOfSet: readonly Int32Array[], signature: Int32Array): Riding {
  const membership = membershipOf(kept, count, ridingOfSet);
  return { ...membership, supply: supplies(kept, signature, membership.inSet, ridingOfSet.length) };
}

/** Prices, capacities and limit use of the kept offers. */
function amountsOf(
  { offers, dimensions: width, limits }: BinProblem,
  dimensions: readonly number[],
  kept: Int32Array,
): Pick<KeptOffers, 'price' | 'capacity' | 'limitUse'> {
  const dims = dimensions.length;
  const count = kept.length;
  const price = new Float64Array(count);
  const capacity = new Float64Array(count * dims);
  const limitUse = new Float64Array(count * limits.length);
  for (let k = 0; k < count; k++) {
    const o = kept[k]!;
    price[k] = offers.price[o]!;
    for (let d = 0; d < dims; d++) capacity[k * dims + d] = offers.capacity[o * width + dimensions[d]!]!;
    for (let l = 0; l < limits.length; l++) limitUse[l * count + k] = limits[l]!.use[o]!;
  }
  return { price, capacity, limitUse };
}

/** For each set: which of the kept offers it contains. */
function membershipOf(
  kept: Int32Array,
  count: number,
  offersOfSet: readonly Int32Array[],
): Pick<KeptOffers, 'inSet' | 'offersOfSet'> {
  const sets = offersOfSet.length;
  const rank = new Int32Array(count).fill(-1);
  for (let k = 0; k < kept.length; k++) rank[kept[k]!] = k;
  const inSet = new Uint8Array(kept.length * sets);
  const keptOfSet: Int32Array[] = [];
  for (let s = 0; s < sets; s++) {
    const members = offersOfSet[s]!;
    let size = 0;
    for (let m = 0; m < members.length; m++) {
      const k = rank[members[m]!]!;
      if (k < 0) continue;
      inSet[k * sets + s] = 1;
      size++;
    }
    const ranks = new Int32Array(size);
    for (let k = 0, next = 0; next < size; k++) if (inSet[k * sets + s] === 1) ranks[next++] = k;
    keptOfSet.push(ranks);
  }
  return { inSet, offersOfSet: keptOfSet };
}

function supplies(kept: Int32Array, signature: Int32Array, inSet: Uint8Array, sets: number): Supplies {
  const of = new Int32Array(kept.length);
  const lists: number[][] = [];
  const known = new Map<number, number>();
  for (let k = 0; k < kept.length; k++) {
    const id = signature[kept[k]!]!;
    let supply = known.get(id);
    if (supply === undefined) {
      supply = lists.length;
      known.set(id, supply);
      const list: number[] = [];
      for (let s = 0; s < sets; s++) if (inSet[k * sets + s] === 1) list.push(s);
      lists.push(list);
    }
    of[k] = supply;
  }
  return { count: lists.length, of, sets: lists };
}

/** Numbers the offers so that two offers have the same number exactly if the same sets contain them; 0: no set does. */
function signatures(count: number, offersOfSet: readonly Int32Array[]): Int32Array {
  const signature = new Int32Array(count);
  let next = 1;
  for (const members of offersOfSet) {
    const moved = new Map<number, number>();
    for (let m = 0; m < members.length; m++) {
      const old = signature[members[m]!]!;
      let id = moved.get(old);
      if (id === undefined) moved.set(old, (id = next++));
      signature[members[m]!] = id;
    }
  }
  return signature;
}

function overdrawn(problem: BinProblem, offer: number): boolean {
  for (let d = 0; d < problem.dimensions; d++) {
    if (problem.offers.capacity[offer * problem.dimensions + d]! < 0) return true;
  }
  return false;
}

/** Initial capacity of a frontier. */
const fewMembers = 64;

/** The non-dominated offers of one signature; offers are added in order of price. */
class Frontier {
  /** Amounts of each member, contiguous: its capacities, then its negated use of each limit. */
  private members: Float64Array;
  private count = 0;
  private readonly largest: Float64Array;
  /** The same amounts of the offer under test. */
  private readonly probe: Float64Array;

  constructor(
    private readonly problem: BinProblem,
    private readonly dimensions: readonly number[],
  ) {
    this.largest = new Float64Array(dimensions.length).fill(-1);
    this.probe = new Float64Array(dimensions.length + problem.limits.length);
    this.members = new Float64Array(fewMembers * this.probe.length);
  }

  admit(offer: number): boolean {
    const { problem, dimensions, largest, probe: of } = this;
    const { offers, limits } = problem;
    let record = false;
    for (let k = 0; k < dimensions.length; k++) {
      const amount = offers.capacity[offer * problem.dimensions + dimensions[k]!]!;
      of[k] = amount;
      if (amount > largest[k]!) {
        largest[k] = amount;
        record = true;
      }
    }
    for (let k = 0; k < limits.length; k++) of[dimensions.length + k] = -limits[k]!.use[offer]!;
    if (!record && this.isBeaten(of)) return false;
    this.keep(of);
    return true;
  }

  private keep(of: Float64Array): void {
    const at = this.count * of.length;
    if (at + of.length > this.members.length) {
      const longer = new Float64Array(2 * this.members.length);
      longer.set(this.members);
      this.members = longer;
    }
    this.members.set(of, at);
    this.count++;
  }

  /** Searched from the end: the last members cost most and are the likeliest to be as large. */
  private isBeaten(of: Float64Array): boolean {
    const { members } = this;
    const width = of.length;
    for (let m = this.count - 1; m >= 0; m--) {
      let k = 0;
      while (k < width && members[m * width + k]! >= of[k]!) k++;
      if (k === width) return true;
    }
    return false;
  }
}
