import { podsWithRelaxedPreferences } from '../../packing/output/relaxed-pods.js';
import type { Plan, PlannedClaim, RelaxedPod } from '../../packing/types.js';

/** A plan as `stowage plan -o json` prints it. */
export interface PlanDocument {
  readonly engine: 'stowage';
  readonly newNodeClaims: readonly object[];
  readonly existingNodes: Plan['existingNodes'];
  readonly unschedulable: Plan['unschedulable'];
  /** What stops the instance types of each NodePool, once for pods that are alike: `unschedulable[].explanation` says where. */
  readonly explanations: NonNullable<Plan['explanations']>;
  /** Pods that a pass leaves for the next one, since pods with many terms share a budget; not unschedulable. */
  readonly deferred: readonly string[];
  /** Pods that ask for a node outside of NodePools: they wait for one that somebody else brings. */
  readonly ignored: readonly string[];
  /** Pods with more preferences than are honoured. */
  readonly ignoredPreferences: NonNullable<Plan['ignoredPreferences']>;
  /** Pods that are placed without some of their preferences. */
  readonly relaxed: readonly Omit<RelaxedPod, 'level'>[];
  /** Objects that planning cannot work with: the plan is made without them. */
  readonly setAside: NonNullable<Plan['setAside']>;
  readonly pricePerHour: number;
  /** No plan that places the same pods costs less. */
  readonly lowerBoundPerHour: number;
  /** No plan that keeps the same preferences of these pods on at most as many new nodes costs less; at least `lowerBoundPerHour`. */
  readonly comparableLowerBoundPerHour: number;
  /** What the higher bound knows nothing of, where the plan is more than 3% above it. */
  readonly boundLeavesOut: readonly string[];
  /** Time to build the problem from the parsed objects, to solve it and to explain what is left over, milliseconds; the median of repeated solves. */
  readonly solveMs: number;
}

export function planDocument(plan: Plan, solveMs: number): PlanDocument {
  return {
    engine: 'stowage',
    newNodeClaims: plan.newNodeClaims.map(claimDocument),
    existingNodes: plan.existingNodes,
    unschedulable: plan.unschedulable,
    explanations: plan.explanations ?? [],
    deferred: plan.deferred ?? [],
    ignored: plan.ignored ?? [],
    ignoredPreferences: plan.ignoredPreferences ?? [],
    relaxed: podsWithRelaxedPreferences(plan).map(({ pod, preferences, relaxed }) => ({ pod, preferences, relaxed })),
    setAside: plan.setAside ?? [],
    pricePerHour: dollars(plan.pricePerHour),
    lowerBoundPerHour: dollars(plan.lowerBoundPerHour),
    comparableLowerBoundPerHour: dollars(plan.comparableLowerBoundPerHour ?? plan.lowerBoundPerHour),
    boundLeavesOut: plan.boundLeavesOut ?? [],
    solveMs: Math.round(solveMs * 1000) / 1000,
  };
}

/** A claim to launch, in the shape that `plan` and `consolidate` share. */
export function claimDocument(claim: PlannedClaim): object {
  const { nodePool, pods, instanceTypes, cheapest, requirements, labels, annotations, why } = claim;
  const isMarked = Object.keys(annotations).length > 0;
  return { nodePool, pods, instanceTypes, cheapest, requirements, labels, ...(isMarked && { annotations }), why };
}

/** Sums of prices carry binary noise in their last digits. */
function dollars(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}
