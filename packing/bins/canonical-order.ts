import { forEachBit, mix, mixNumber } from './bits.js';
import type { BinProblem } from './problem.js';

/** Orders that do not depend on how the input happens to be ordered; only what is alike in every respect may swap places. */
export interface CanonicalOrder {
  readonly offers: Int32Array;
  readonly items: Int32Array;
  readonly sets: Int32Array;
}

/**
 * Sorts by what the search looks at first (price; demand) and settles ties by hashes that flow between items, sets, caps
 * and conflicts, as in colour refinement: sums over neighbours, so that their order has no say.
 */
export function canonicalOrder(
  problem: BinProblem,
  sets: { readonly of: Int32Array; readonly distinct: readonly Uint32Array[] },
): CanonicalOrder {
  const { items, offers } = problem;
  const offerHash = hashOffers(problem);
  let itemHash = hashItems(problem);
  const own = itemHash;
  const setHash = new Int32Array(sets.distinct.length);
  for (let s = 0; s < setHash.length; s++) {
    let sum = 0;
    forEachBit(sets.distinct[s]!, offers.count, (o) => (sum = (sum + offerHash[o]!) | 0));
    setHash[s] = mix(sum, 1);
  }
  for (let round = 0; round < 2; round++) {
    const sums = Int32Array.from(setHash);
    for (let i = 0; i < items.count; i++) sums[sets.of[i]!] = (sums[sets.of[i]!]! + mix(itemHash[i]!, 2)) | 0;
    setHash.set(sums);
    itemHash = refine(problem, own, itemHash, (i) => setHash[sets.of[i]!]!);
  }
  for (let s = 0; s < setHash.length; s++) {
    const salt = mix(setHash[s]!, 3);
    forEachBit(sets.distinct[s]!, offers.count, (o) => (offerHash[o] = (offerHash[o]! + salt) | 0));
  }

  const bySet = sorted(setHash.length, (a, b) => setHash[a]! - setHash[b]!);
  const setRank = new Int32Array(bySet.length);
  bySet.forEach((s, rank) => (setRank[s] = rank));
  const width = problem.dimensions;
  // Of equal pods those under caps come first: they have fewer bins to choose from.
  const capped = new Uint8Array(items.count);
  for (const cap of problem.caps) for (const i of cap.items) capped[i] = 1;
  return {
    sets: bySet,
    items: sorted(
      items.count,
      (a, b) =>
        compareRows(items.demand, width, b, a) ||
        setRank[sets.of[a]!]! - setRank[sets.of[b]!]! ||
        capped[b]! - capped[a]! ||
        itemHash[a]! - itemHash[b]!,
    ),
    offers: sorted(
      offers.count,
      (a, b) =>
        offers.price[a]! - offers.price[b]! ||
        compareRows(offers.capacity, width, b, a) ||
        offerHash[a]! - offerHash[b]!,
    ),
  };
}

function hashOffers(problem: BinProblem): Int32Array {
  const { offers, dimensions } = problem;
  const hashes = new Int32Array(offers.count);
  for (let o = 0; o < offers.count; o++) {
    let hash = mixNumber(7, offers.price[o]!);
    for (let d = 0; d < dimensions; d++) hash = mixNumber(hash, offers.capacity[o * dimensions + d]!);
    for (const limit of problem.limits) hash = (hash + mixNumber(mixNumber(5, limit.remaining), limit.use[o]!)) | 0;
    hashes[o] = hash;
  }
  return hashes;
}

function hashItems(problem: BinProblem): Int32Array {
  const { items, dimensions } = problem;
  const hashes = new Int32Array(items.count);
  for (let i = 0; i < items.count; i++) {
    let hash = mix(11, items.pods[i]!);
    for (let d = 0; d < dimensions; d++) hash = mixNumber(hash, items.demand[i * dimensions + d]!);
    hashes[i] = hash;
  }
  for (const [b, bin] of problem.openBins.entries()) {
    for (const item of bin.holds) hashes[item] = mix(hashes[item]!, b);
  }
  return hashes;
}

function refine(
  problem: BinProblem,
  own: Int32Array,
  hashes: Int32Array,
  setHash: (item: number) => number,
): Int32Array {
  const next = new Int32Array(hashes.length);
  for (let i = 0; i < next.length; i++) next[i] = mix(mix(own[i]!, hashes[i]!), setHash(i));
  for (const cap of problem.caps) {
    let sum = 0;
    for (const i of cap.items) sum = (sum + mix(hashes[i]!, 13)) | 0;
    const salt = mix(sum, cap.max);
    for (const i of cap.items) next[i] = (next[i]! + salt) | 0;
  }
  for (const [a, b] of problem.conflicts) {
    next[a] = (next[a]! + mix(hashes[b]!, 17)) | 0;
    if (a !== b) next[b] = (next[b]! + mix(hashes[a]!, 17)) | 0;
  }
  return next;
}

function compareRows(rows: Float64Array, width: number, a: number, b: number): number {
  for (let d = 0; d < width; d++) {
    const difference = rows[a * width + d]! - rows[b * width + d]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

function sorted(count: number, compare: (a: number, b: number) => number): Int32Array {
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  return order.sort((a, b) => compare(a, b) || a - b);
}
