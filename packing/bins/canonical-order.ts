import { mix } from './bits.js';
import type { BinProblem, BinOffers } from './problem.js';

/** Orders that do not depend on the order of the input. Only entries that are equal in every respect may be swapped. */
export interface CanonicalOrder {
  readonly offers: Int32Array;
  readonly items: Int32Array;
  readonly sets: Int32Array;
}

/**
 * Sorts by what the search looks at first (price; demand) and breaks ties by hashes. The hashes are propagated between
 * items, sets, caps and conflicts, as in colour refinement. Each hash sums those of its neighbours, so that their order
 * does not matter.
 */
export function canonicalOrder(
  problem: BinProblem,
  setOf: Int32Array,
  offersOfSet: readonly Int32Array[],
  ridingOfSet?: readonly Int32Array[],
): CanonicalOrder {
  const { items } = problem;
  const offerHash = hashOffers(problem);
  let itemHash = hashItems(problem);
  const own = itemHash;
  const setHash = new Int32Array(offersOfSet.length);
  for (let s = 0; s < setHash.length; s++) {
    const members = offersOfSet[s]!;
    let sum = 0;
    for (let k = 0; k < members.length; k++) sum = (sum + offerHash[members[k]!]!) | 0;
    setHash[s] = mix(sum, 1);
    if (ridingOfSet === undefined) continue;
    const riding = ridingOfSet[s]!;
    sum = 0;
    for (let k = 0; k < riding.length; k++) sum = (sum + offerHash[riding[k]!]!) | 0;
    setHash[s] = mix(setHash[s]!, sum);
  }
  for (let round = 0; round < 2; round++) {
    const sums = Int32Array.from(setHash);
    for (let i = 0; i < items.count; i++) sums[setOf[i]!] = (sums[setOf[i]!]! + mix(itemHash[i]!, 2)) | 0;
    setHash.set(sums);
    itemHash = refine(problem, own, itemHash, setOf, setHash);
  }
  for (let s = 0; s < setHash.length; s++) {
    const salt = mix(setHash[s]!, 3);
    const members = offersOfSet[s]!;
    for (let k = 0; k < members.length; k++) offerHash[members[k]!] = (offerHash[members[k]!]! + salt) | 0;
  }
  const sets = byFirst(Float64Array.from(setHash), () => 0);
  return { sets, items: orderItems(problem, setOf, sets, itemHash), offers: orderOffers(problem, offerHash) };
}

function orderItems(problem: BinProblem, setOf: Int32Array, sets: Int32Array, hash: Int32Array): Int32Array {
  const { items, dimensions } = problem;
  const setRank = new Int32Array(sets.length);
  sets.forEach((s, rank) => (setRank[s] = rank));
  // Of equal pods those under caps come first: fewer bins can hold them.
  const capped = new Uint8Array(items.count);
  for (const cap of problem.caps) for (const i of cap.items) capped[i] = 1;
  const first = new Float64Array(items.count);
  for (let i = 0; i < items.count; i++) first[i] = -items.demand[i * dimensions]!;
  return byFirst(
    first,
    (a, b) =>
      compareRows(items.demand, dimensions, b, a) ||
      setRank[setOf[a]!]! - setRank[setOf[b]!]! ||
      capped[b]! - capped[a]! ||
      hash[a]! - hash[b]!,
  );
}

function orderOffers({ offers, dimensions }: BinProblem, hash: Int32Array): Int32Array {
  const { order, ties } = bySize(offers, dimensions);
  const ordered = order.slice();
  for (let k = 0; k < ties.length; k += 2) sortByHash(ordered, ties[k]!, ties[k + 1]!, hash);
  return ordered;
}

/**
 * Sorts the ascending range from `order[from]` up to `order[to]`. Most ranges have a few entries (the zones of one
 * type), so that a typed array view would cost more than the sort.
 */
function sortByHash(order: Int32Array, from: number, to: number, hash: Int32Array): void {
  if (to - from > fewTies) {
    order.subarray(from, to).sort((a, b) => hash[a]! - hash[b]! || a - b);
    return;
  }
  for (let k = from + 1; k < to; k++) {
    const offer = order[k]!;
    let at = k;
    for (; at > from && hash[order[at - 1]!]! > hash[offer]!; at--) order[at] = order[at - 1]!;
    order[at] = offer;
  }
}

const fewTies = 16;

/** What all problems over the same offers share. */
interface SizedOffers {
  /** By price ascending, then size descending, then input order. */
  readonly order: Int32Array;
  /** Ranges of that order with equal price and size: from, to, from, to. */
  readonly ties: readonly number[];
  /** By offer: a hash of its price and size. */
  readonly hash: Int32Array;
}

/** Cached by identity: many problems share the offers object of one catalogue. Only speed depends on it. */
const sized = new WeakMap<BinOffers, SizedOffers>();

function bySize(offers: BinOffers, dimensions: number): SizedOffers {
  let known = sized.get(offers);
  if (known === undefined) {
    const { price, capacity, count } = offers;
    const order = byFirst(price, (a, b) => compareRows(capacity, dimensions, b, a));
    const ties: number[] = [];
    for (let from = 0, to = 1; from < count; from = to++) {
      const first = order[from]!;
      const isLike = (o: number): boolean => price[o] === price[first] && compareRows(capacity, dimensions, o, first) === 0; // prettier-ignore
      while (to < count && isLike(order[to]!)) to++;
      if (to - from > 1) ties.push(from, to);
    }
    sized.set(offers, (known = { order, ties, hash: hashSizes(offers, dimensions) }));
  }
  return known;
}

function hashSizes({ count, price, capacity }: BinOffers, dimensions: number): Int32Array {
  const hashes = new Int32Array(count);
  for (let o = 0; o < count; o++) {
    let hash = coarse(7, price[o]!);
    for (let d = 0; d < dimensions; d++) hash = coarse(hash, capacity[o * dimensions + d]!);
    hashes[o] = hash;
  }
  return hashes;
}

function hashOffers(problem: BinProblem): Int32Array {
  const { offers, dimensions } = problem;
  const hashes = bySize(offers, dimensions).hash.slice();
  for (const limit of problem.limits) {
    const salt = coarse(5, limit.remaining);
    for (let o = 0; o < offers.count; o++) hashes[o] = (hashes[o]! + coarse(salt, limit.use[o]!)) | 0;
  }
  return hashes;
}

function hashItems(problem: BinProblem): Int32Array {
  const { items, dimensions } = problem;
  const hashes = new Int32Array(items.count);
  for (let i = 0; i < items.count; i++) {
    let hash = mix(11, items.pods[i]!);
    for (let d = 0; d < dimensions; d++) hash = coarse(hash, items.demand[i * dimensions + d]!);
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
  setOf: Int32Array,
  setHash: Int32Array,
): Int32Array {
  const next = new Int32Array(hashes.length);
  for (let i = 0; i < next.length; i++) next[i] = mix(mix(own[i]!, hashes[i]!), setHash[setOf[i]!]!);
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

/** A cheap hash of an amount. Collisions are harmless: they only leave ties. */
function coarse(hash: number, value: number): number {
  const h = Math.imul(hash ^ ((value * 1048573) | 0), 0x9e3779b1);
  return h ^ (h >>> 15);
}

function compareRows(rows: Float64Array, width: number, a: number, b: number): number {
  for (let d = 0; d < width; d++) {
    const difference = rows[a * width + d]! - rows[b * width + d]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Indices 0 up to `keys.length`, sorted by key, ties by `compare`, then by index. The keys are sorted natively, since
 * ties are few.
 */
function byFirst(keys: Float64Array, compare: (a: number, b: number) => number): Int32Array {
  const sorted = Float64Array.from(keys).sort();
  // The next free position for each key.
  const next = new Map<number, number>();
  for (let k = 0; k < sorted.length; k++) if (k === 0 || sorted[k] !== sorted[k - 1]) next.set(sorted[k]!, k);
  const order = new Int32Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const at = next.get(keys[i]!)!;
    order[at] = i;
    next.set(keys[i]!, at + 1);
  }
  for (let from = 0, to = 1; from < sorted.length; from = to++) {
    while (to < sorted.length && sorted[to] === sorted[from]) to++;
    if (to - from > 1) order.subarray(from, to).sort((a, b) => compare(a, b) || a - b);
  }
  return order;
}
