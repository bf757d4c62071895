import type { CompiledProblem } from './compile.js';
import type { Supplies } from './dominance.js';
import type { FeasibleWorth } from './resource-lp.js';

/**
 * Scales worth down until no offer holds more worth than its price: each set by the worst of the supplies that serve
 * it, caps by the worst of all. Afterwards the sum of demand times worth is a valid lower bound, whatever the initial
 * worth was.
 */
export function scaledToFeasible(compiled: CompiledProblem, worth: FeasibleWorth, reach: Uint8Array): FeasibleWorth {
  const { dims, sets, offers, capacity, price, capMax, supply } = compiled;
  const ceiling = supplyCeiling(compiled, worth, supply);
  const excess = new Float64Array(supply.count).fill(1);
  const valued = Array.from(capMax.keys()).filter((cap) => worth.cap[cap]! > 0);
  let worst = 1;
  for (let o = 0; o < offers; o++) {
    const k = supply.of[o]!;
    let held = 0;
    for (let d = 0; d < dims; d++) held += ceiling[k * dims + d]! * capacity[o * dims + d]!;
    for (const cap of valued) if (reach[cap * offers + o] === 1) held += worth.cap[cap]! * capMax[cap]!;
    if (price[o]! > 0) excess[k] = Math.max(excess[k]!, held / price[o]!);
    else if (held > 0) excess[k] = Infinity;
  }
  const setExcess = new Float64Array(sets).fill(1);
  for (let k = 0; k < supply.count; k++) {
    for (const set of supply.sets[k]!) setExcess[set] = Math.max(setExcess[set]!, excess[k]!);
    worst = Math.max(worst, excess[k]!);
  }
  return {
    resource: worth.resource.map((value, k) => value / setExcess[Math.floor(k / dims)]!),
    cap: worth.cap.map((value) => value / worst),
  };
}
/** Upper bound of the worth of a unit of each resource of a supply: `[supply * dims + d]`. */
function supplyCeiling(compiled: CompiledProblem, worth: FeasibleWorth, supply: Supplies): Float64Array {
  const { dims } = compiled;
  const ceiling = new Float64Array(supply.count * dims);
  for (let k = 0; k < supply.count; k++) {
    for (const set of supply.sets[k]!) {
      for (let d = 0; d < dims; d++) {
        ceiling[k * dims + d] = Math.max(ceiling[k * dims + d]!, worth.resource[set * dims + d]!);
      }
    }
  }
  return ceiling;
}
