import { leastPriceOfPlaced } from './bound/least-price.js';
import { compile, type Compiled } from './compile/compiled.js';
import type { PodClass } from './compile/classes.js';
import { withoutUnreadable } from './exclude-objects.js';
import { fullName } from './names.js';
import { rulesIgnoredByProof } from './bound/ignored-by-proof.js';
import { explainedAbove } from './solve/solve.js';
import { WorkingPlan } from './solve/working-plan.js';
import type { PackingInput, Plan } from './types.js';

/** Work for the bound of one plan: a second, which few plans need. Twice as much brought one of ten large plans nearer. */
const usualUnits = 20_000_000;

/** The share that rounding may make a bound too high. */
const safety = 1e-9;

/**
 * The plan with a bound that counts what rules force and how pods fit into whole nodes (bound/README.md): it takes a good deal of the time that planning takes, so it is for whoever
 * asks what a plan is worth. The plan must be that of the input.
 */
export function withProvenBound(input: PackingInput, plan: Plan, units = usualUnits): Plan {
  const { pricePerHour } = plan;
  if (pricePerHour <= 0 || plan.lowerBoundPerHour >= pricePerHour * (1 - safety)) return plan;
  const { result } = withoutUnreadable(input, (each) => proofOf(compile(each), plan, units));
  // A bound above the price of a plan is none.
  const isBound = result.bound <= pricePerHour * (1 + 1e-6);
  const proven = isBound ? Math.max(plan.lowerBoundPerHour, result.bound) : plan.lowerBoundPerHour;
  const lowerBoundPerHour = Math.min(proven, pricePerHour);
  const { boundLeavesOut, ...rest } = plan;
  const leftOut = isBound && result.bound >= plan.lowerBoundPerHour ? result.leavesOut : boundLeavesOut;
  const isFar = pricePerHour > lowerBoundPerHour * explainedAbove;
  return { ...rest, lowerBoundPerHour, ...(isFar && leftOut !== undefined && { boundLeavesOut: leftOut }) };
}

export interface Proof {
  readonly bound: number;
  readonly leavesOut: readonly string[];
}

/** What the pods that the plan places cost at least, whatever the plan costs. */
export function proofOf(compiled: Compiled, plan: Plan, units: number): Proof {
  const working = new WorkingPlan(compiled);
  const classOf = new Map<string, PodClass>();
  for (const podClass of compiled.queue) {
    for (const pod of podClass.pods) classOf.set(fullName(pod), podClass);
  }
  const countOf = (pods: readonly string[]): Map<PodClass, number> => {
    const counts = new Map<PodClass, number>();
    for (const name of pods) {
      const podClass = classOf.get(name);
      if (podClass !== undefined) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
    }
    return counts;
  };
  const claims = plan.newNodeClaims.map(({ pods }) => countOf(pods));
  const placed = new Map<PodClass, number>();
  for (const counts of [...claims, ...plan.existingNodes.map(({ pods }) => countOf(pods))]) {
    for (const [podClass, pods] of counts) placed.set(podClass, (placed.get(podClass) ?? 0) + pods);
  }
  const { bound, parts, forced } = leastPriceOfPlaced(working, placed, claims, {
    units,
    price: plan.pricePerHour,
    otherBound: plan.lowerBoundPerHour,
  });
  return { bound: bound * (1 - safety), leavesOut: rulesIgnoredByProof(compiled, working.book, { parts, forced }) };
}
