import type { Compiled } from './compile.js';
import { compile } from './compile.js';
import { placeable } from './placeable.js';
import type { BinProblem, Effort } from './problem.js';
import type { Worth } from './resource-lp.js';
import { capReach, demandsOf, repair, resourceWorth, supplies } from './resource-lp.js';

/** Rounded down by this share, far above the error of the sums. */
const safety = 1e-9;

/**
 * No packing of the pods that some offer holds costs less, dollars per hour. Any worth of resources and caps that no offer
 * exceeds its price in proves one; open bins hold theirs free; limits only make packings dearer and are left out.
 */
export function lowerBound(problem: BinProblem, effort: Effort): number {
  void effort;
  const compiled = compile(problem);
  const items = placeable(compiled);
  const demands = demandsOf(compiled, compiled.pods, items);
  const supply = supplies(compiled);
  const reach = capReach(compiled);
  const worth = repair(compiled, resourceWorth(compiled, demands, supply, reach), supply, reach);
  let total = 0;
  for (let k = 0; k < worth.resource.length; k++) total += worth.resource[k]! * demands.resource[k]!;
  for (let k = 0; k < worth.cap.length; k++) total += worth.cap[k]! * demands.cap[k]!;
  return Math.max(0, (total - openWorth(problem, compiled, worth)) * (1 - safety));
}

/** The most worth that open bins can take. */
function openWorth(problem: BinProblem, compiled: Compiled, worth: Worth): number {
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
    for (const cap of caps) {
      total += worth.cap[cap]! * Math.max(0, compiled.capMax[cap]! - (problem.openBins[b]!.capUse[cap] ?? 0));
    }
  });
  return total;
}
