import type { BinOffers, BinProblem } from './problem.js';

/** What the search looks at first comes first; ties are in the order of the problem. */
export interface SearchOrder {
  /** By price ascending, then size descending. */
  readonly offers: Int32Array;
  /** By demand descending; equal demands of one set are adjacent. */
  readonly items: Int32Array;
}

export const searchOrder = (problem: BinProblem, setOf: Int32Array): SearchOrder => ({
  offers: bySize(problem.offers, problem.dimensions),
  items: byDemand(problem, setOf),
});

/** Cached by identity: many problems share the offers object of one catalogue. Only speed depends on it. */
const sized = new WeakMap<BinOffers, Int32Array>();

function bySize(offers: BinOffers, dimensions: number): Int32Array {
  let known = sized.get(offers);
  if (known === undefined) {
    const { price, capacity } = offers;
    sized.set(offers, (known = byFirst(price, (a, b) => compareRows(capacity, dimensions, b, a))));
  }
  return known;
}

function byDemand({ items, dimensions, caps }: BinProblem, setOf: Int32Array): Int32Array {
  // Of equal pods those under caps come first: fewer bins can hold them.
  const capped = new Uint8Array(items.count);
  for (const cap of caps) for (const i of cap.items) capped[i] = 1;
  const first = new Float64Array(items.count);
  for (let i = 0; i < items.count; i++) first[i] = -items.demand[i * dimensions]!;
  return byFirst(
    first,
    (a, b) => compareRows(items.demand, dimensions, b, a) || setOf[a]! - setOf[b]! || capped[b]! - capped[a]!,
  );
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
