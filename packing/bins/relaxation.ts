import type { CompiledProblem } from './compile.js';
import { placeable } from './placeable.js';
import { wholeBinsBound } from './whole-bins.js';
import type { Demands, FeasibleWorth } from './resource-lp.js';
import { capReach, demandsOf, resourceWorth } from './resource-lp.js';
import { scaledToFeasible } from './feasible-worth.js';

/** The bound is rounded down by this share, far above the rounding error of the sums. */
const safety = 1e-9;

/**
 * Result of the relaxation by resources. Any worth of resources and caps at which no offer holds more than its price
 * proves a lower bound. Open bins are free; limits only make packings dearer and are ignored.
 */
export interface Relaxation {
  /** Items that some offer holds. */
  readonly items: Int32Array;
  /** See `capReach`. */
  readonly reach: Uint8Array;
  /** Worth of resources that guides the search; see `resourceWorth`. */
  readonly worth: FeasibleWorth;
  /** The same worth, scaled so that it proves the bound. */
  readonly proven: FeasibleWorth;
  /** Lower bound of the price of these items. */
  readonly bound: number;
}

export function relax(compiled: CompiledProblem): Relaxation {
  const items = placeable(compiled);
  const demands = demandsOf(compiled, compiled.pods, items);
  const reach = capReach(compiled);
  const worth = resourceWorth(compiled, demands, reach);
  let best = prove(compiled, demands, scaledToFeasible(compiled, worth, reach));
  if (compiled.openFree.length > 0) {
    const withOpen = resourceWorth(compiled, demands, reach, true);
    const other = prove(compiled, demands, scaledToFeasible(compiled, withOpen, reach));
    if (other.bound > best.bound) best = other;
  }
  const whole = wholeBinsBound(compiled, items) * (1 - safety);
  return { items, reach, worth, proven: best.proven, bound: Math.max(best.bound, whole) };
}

function prove(
  compiled: CompiledProblem,
  demands: Demands,
  proven: FeasibleWorth,
): { proven: FeasibleWorth; bound: number } {
  let total = 0;
  for (let k = 0; k < proven.resource.length; k++) total += proven.resource[k]! * demands.resource[k]!;
  for (let k = 0; k < proven.cap.length; k++) total += proven.cap[k]! * demands.cap[k]!;
  return { proven, bound: Math.max(0, (total - openWorth(compiled, proven)) * (1 - safety)) };
}

/** The most worth that open bins can take. */
function openWorth(compiled: CompiledProblem, worth: FeasibleWorth): number {
  const { dims, setOf, shapeOf } = compiled;
  const ceilings = compiled.openSets.map((admitted) => {
    const ceiling = new Float64Array(dims);
    const caps = new Set<number>();
    for (let i = 0; i < compiled.items; i++) {
      if (admitted[i] === 0) continue;
      for (let d = 0; d < dims; d++)
        ceiling[d] = Math.max(ceiling[d]!, worth.resource[setOf[shapeOf[i]!]! * dims + d]!);
      for (const cap of compiled.capsOf[i]!) caps.add(cap);
    }
    return { ceiling, caps: [...caps] };
  });
  let total = 0;
  compiled.openFree.forEach((free, b) => {
    if (free === undefined) return;
    const { ceiling, caps } = ceilings[compiled.openSetOf[b]!]!;
    for (let d = 0; d < dims; d++) total += Math.max(0, free[d]!) * ceiling[d]!;
    for (const cap of caps) total += worth.cap[cap]! * compiled.capMax[cap]!;
  });
  return total;
}
