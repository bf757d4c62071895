import type { CompiledProblem } from './compile.js';
import { CoveringSimplex } from './simplex.js';

/**
 * Worth of a unit of each resource to the items of each set: the duals of buying capacity for the items of that set
 * alone, `[set * dims + d]` in dollars per hour. No offer of the set holds more worth than its price.
 */
export function worthBySet(compiled: CompiledProblem, demands: Float64Array): Float64Array {
  const { dims, sets } = compiled;
  const prices = new Float64Array(sets * dims);
  for (let set = 0; set < sets; set++) {
    const totals = demands.subarray(set * dims, set * dims + dims);
    prices.set(pricesOfSet(compiled, compiled.offersOfSet[set]!, totals), set * dims);
  }
  return prices;
}

function pricesOfSet(compiled: CompiledProblem, offers: Int32Array, totals: Float64Array): Float64Array {
  const { dims, capacity, price } = compiled;
  const result = new Float64Array(dims);
  const { unit, ceiling } = extremes(compiled, offers);
  const rows: number[] = [];
  for (let d = 0; d < dims; d++) if (totals[d]! > 0 && unit[d]! > 0) rows.push(d);
  if (rows.length === 0) return result;

  // The start column buys one resource alone at the best rate of any offer: never better than a whole bin of that
  // offer.
  const simplex = new CoveringSimplex(
    Float64Array.from(rows, (d) => totals[d]! / unit[d]!),
    new Float64Array(rows.length).fill(1),
    Float64Array.from(rows, (d) => ceiling[d]! * unit[d]!),
  );
  const index = Int32Array.from(rows, (_, r) => r);
  const column = new Float64Array(rows.length);
  const worth = new Float64Array(dims);
  for (let round = 0; round < 30 + 4 * rows.length; round++) {
    for (let r = 0; r < rows.length; r++) worth[rows[r]!] = simplex.duals[r]! / unit[rows[r]!]!;
    const best = bestValue(compiled, offers, worth);
    if (best >= 0) {
      for (let r = 0; r < rows.length; r++) column[r] = capacity[best * dims + rows[r]!]! / unit[rows[r]!]!;
      if (simplex.enter(index, column, price[best]!, best)) continue;
    }
    if (!simplex.enterSurplus()) break;
  }
  rows.forEach((d, r) => (result[d] = Math.max(0, simplex.duals[r]! / unit[d]!)));
  return result;
}

/** The offer with the highest worth per price, if it is worth more than its price; else -1. */
function bestValue(compiled: CompiledProblem, offers: Int32Array, worth: Float64Array): number {
  const { dims, capacity, price } = compiled;
  let best = -1;
  let highest = 1 + 1e-7;
  for (let k = 0; k < offers.length; k++) {
    const o = offers[k]!;
    let held = 0;
    for (let d = 0; d < dims; d++) held += worth[d]! * capacity[o * dims + d]!;
    if (held > highest * price[o]!) {
      highest = held / price[o]!;
      best = o;
    }
  }
  return best;
}

/** By dimension: the largest capacity and the lowest price of a unit. */
function extremes(compiled: CompiledProblem, offers: Int32Array): { unit: Float64Array; ceiling: Float64Array } {
  const { dims, capacity, price } = compiled;
  const unit = new Float64Array(dims);
  const ceiling = new Float64Array(dims).fill(Infinity);
  for (let k = 0; k < offers.length; k++) {
    const o = offers[k]!;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[o * dims + d]!;
      if (amount > unit[d]!) unit[d] = amount;
      if (amount > 0 && price[o]! < ceiling[d]! * amount) ceiling[d] = price[o]! / amount;
    }
  }
  return { unit, ceiling };
}
