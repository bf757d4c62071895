import type { Compiled } from './compile.js';
import { CoveringSimplex } from './simplex.js';

/**
 * What a unit of each resource is worth to the items of each allowed set: the duals of buying capacity for them alone at
 * least cost, `prices[set * dims + d]` in dollars an hour. No offer of the set holds more worth than its price.
 */
export function resourcePrices(compiled: Compiled, demands: Float64Array): Float64Array {
  const { dims, sets } = compiled;
  const prices = new Float64Array(sets * dims);
  for (let set = 0; set < sets; set++) {
    const totals = demands.subarray(set * dims, set * dims + dims);
    prices.set(pricesOfSet(compiled, compiled.offersOfSet[set]!, totals), set * dims);
  }
  return prices;
}

function pricesOfSet(compiled: Compiled, offers: Int32Array, totals: Float64Array): Float64Array {
  const { dims, capacity, price } = compiled;
  const result = new Float64Array(dims);
  const unit = new Float64Array(dims);
  const ceiling = new Float64Array(dims).fill(Infinity);
  for (const o of offers) {
    for (let d = 0; d < dims; d++) {
      const amount = capacity[o * dims + d]!;
      if (amount > unit[d]!) unit[d] = amount;
      if (amount > 0 && price[o]! < ceiling[d]! * amount) ceiling[d] = price[o]! / amount;
    }
  }
  const rows: number[] = [];
  for (let d = 0; d < dims; d++) if (totals[d]! > 0 && unit[d]! > 0) rows.push(d);
  if (rows.length === 0) return result;

  // The start column buys one resource alone at the best rate of any offer: never better than that offer whole.
  const simplex = new CoveringSimplex(
    Float64Array.from(rows, (d) => totals[d]! / unit[d]!),
    new Float64Array(rows.length).fill(1),
    Float64Array.from(rows, (d) => ceiling[d]! * unit[d]!),
  );
  const index = Int32Array.from(rows, (_, r) => r);
  const column = new Float64Array(rows.length);
  for (let round = 0; round < 30 + 4 * rows.length; round++) {
    let best = -1;
    let highest = 1 + 1e-7;
    for (const o of offers) {
      let worth = 0;
      for (let r = 0; r < rows.length; r++)
        worth += (simplex.duals[r]! / unit[rows[r]!]!) * capacity[o * dims + rows[r]!]!;
      if (worth > highest * price[o]!) {
        highest = worth / price[o]!;
        best = o;
      }
    }
    if (best >= 0) {
      for (let r = 0; r < rows.length; r++) column[r] = capacity[best * dims + rows[r]!]! / unit[rows[r]!]!;
      if (simplex.enter(index, column, price[best]!, best)) continue;
    }
    if (!simplex.enterSurplus()) break;
  }
  rows.forEach((d, r) => (result[d] = Math.max(0, simplex.duals[r]! / unit[d]!)));
  return result;
}
