import type { CanonicalOrder } from './canonical-order.js';
import type { BinProblem } from './problem.js';

export interface KeptOffers {
  readonly offers: number;
  readonly price: Float64Array;
  readonly capacity: Float64Array;
  readonly offerOrigin: Int32Array;
  readonly limitUse: Float64Array;
  readonly limitRemaining: Float64Array;
  readonly offersOfSet: readonly Int32Array[];
  readonly inSet: Uint8Array;
  readonly supply: Supplies;
}

/** Offers that the same sets admit: bins of one supply compete for the same items. */
export interface Supplies {
  readonly count: number;
  readonly of: Int32Array;
  /** Sets that each supply serves, ascending. */
  readonly sets: readonly (readonly number[])[];
}

/**
 * Drops every offer that no item may use, that is overdrawn before any pod comes, and that another with the same allowed
 * items beats: no dearer, no smaller, no more of any limit. What remains is as good as the whole for any packing that costs
 * no more than `ceiling`.
 */
export function keepOffers(
  problem: BinProblem,
  dimensions: readonly number[],
  offersOfSet: readonly Int32Array[],
  order: CanonicalOrder,
  ceiling: number,
): KeptOffers {
  const { offers, limits } = problem;
  const signature = signatures(offers.count, offersOfSet);
  const groups = new Map<number, Frontier>();
  const kept: number[] = [];
  for (const o of order.offers) {
    const id = signature[o]!;
    if (id === 0 || offers.price[o]! > ceiling || overdrawn(problem, o)) continue;
    let frontier = groups.get(id);
    if (frontier === undefined) groups.set(id, (frontier = new Frontier(problem, dimensions)));
    if (frontier.admit(o)) kept.push(o);
  }

  const count = kept.length;
  const dims = dimensions.length;
  const capacity = new Float64Array(count * dims);
  const limitUse = new Float64Array(count * limits.length);
  const rank = new Int32Array(offers.count).fill(-1);
  kept.forEach((o, k) => {
    rank[o] = k;
    for (let d = 0; d < dims; d++) {
      capacity[k * dims + d] = offers.capacity[o * problem.dimensions + dimensions[d]!]!;
    }
    limits.forEach((limit, l) => (limitUse[l * count + k] = limit.use[o]!));
  });
  const sets = order.sets.length;
  const inSet = new Uint8Array(count * sets);
  const keptOfSet = Array.from(order.sets, (s, setRank) => {
    const members = offersOfSet[s]!;
    const list = new Int32Array(members.length);
    let found = 0;
    for (let m = 0; m < members.length; m++) {
      const k = rank[members[m]!]!;
      if (k < 0) continue;
      inSet[k * sets + setRank] = 1;
      list[found++] = k;
    }
    return list.slice(0, found).sort();
  });
  return {
    offers: count,
    price: Float64Array.from(kept, (o) => offers.price[o]!),
    capacity,
    offerOrigin: Int32Array.from(kept),
    limitUse,
    limitRemaining: Float64Array.from(limits, (limit) => limit.remaining),
    offersOfSet: keptOfSet,
    inSet,
    supply: supplies(kept, signature, inSet, sets),
  };
}

function supplies(kept: readonly number[], signature: Int32Array, inSet: Uint8Array, sets: number): Supplies {
  const of = new Int32Array(kept.length);
  const lists: number[][] = [];
  const known = new Map<number, number>();
  kept.forEach((o, k) => {
    let id = known.get(signature[o]!);
    if (id === undefined) {
      id = lists.length;
      known.set(signature[o]!, id);
      const list: number[] = [];
      for (let s = 0; s < sets; s++) if (inSet[k * sets + s] === 1) list.push(s);
      lists.push(list);
    }
    of[k] = id;
  });
  return { count: lists.length, of, sets: lists };
}

/** Numbers offers so that two have one number exactly if they are in the same sets; 0 is in none. */
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

/** The unbeaten offers of one signature; offers come in order of price. */
class Frontier {
  /** What each uses: its capacities, then minus its use of each limit. */
  private readonly members: Float64Array[] = [];
  private readonly largest: Float64Array;
  /** The same of the offer that is looked at. */
  private readonly probe: Float64Array;

  constructor(
    private readonly problem: BinProblem,
    private readonly dimensions: readonly number[],
  ) {
    this.largest = new Float64Array(dimensions.length).fill(-1);
    this.probe = new Float64Array(dimensions.length + problem.limits.length);
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
    this.members.push(of.slice());
    return true;
  }

  /** The last ones cost most and so are the likeliest to be as large. */
  private isBeaten(of: Float64Array): boolean {
    const { members } = this;
    for (let m = members.length - 1; m >= 0; m--) {
      const member = members[m]!;
      let k = 0;
      while (k < of.length && member[k]! >= of[k]!) k++;
      if (k === of.length) return true;
    }
    return false;
  }
}
