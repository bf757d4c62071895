import { podsWithRelaxedPreferences } from '../../packing/output/relaxed-pods.js';
import type { Plan, PlannedClaim, RelaxedPod } from '../../packing/types.js';

/** A plan in the format of `stowage plan -o json`. */
export interface PlanDocument {
  readonly engine: 'stowage';
  readonly newNodeClaims: readonly object[];
  readonly existingNodes: Plan['existingNodes'];
  readonly unschedulable: Plan['unschedulable'];
  /**
   * What excludes the instance types of each NodePool, once for equal pods: `unschedulable[].explanation` is the index.
   */
  readonly explanations: NonNullable<Plan['explanations']>;
  /** Pods left for the next pass, since pods with many terms share a budget of work; they are not unschedulable. */
  readonly deferred: readonly string[];
  /** Pods that ask for a node outside of NodePools: Stowage launches none for them. */
  readonly ignored: readonly string[];
  /** Pods with more preferences than are honoured. */
  readonly ignoredPreferences: NonNullable<Plan['ignoredPreferences']>;
  /** Pods placed without some of their preferences. */
  readonly relaxed: readonly Omit<RelaxedPod, 'level'>[];
  /** Objects that could not be read and were left out. */
  readonly setAside: NonNullable<Plan['setAside']>;
  readonly pricePerHour: number;
  /** Lower bound of the price of plans for the same pods. */
  readonly lowerBoundPerHour: number;
  /**
   * Lower bound of the price of comparable plans (the same preferences of these pods, at most as many new nodes); at
   * least `lowerBoundPerHour`.
   */
  readonly comparableLowerBoundPerHour: number;
  /** What the higher bound does not take into account, if the plan is more than 3% above it. */
  readonly boundLeavesOut: readonly string[];
  /** Time from the parsed objects to the plan with explanations, milliseconds; the median of repeated solves. */
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

/** A claim to launch, in the format that `plan` and `consolidate` share. */
export function claimDocument(claim: PlannedClaim): object {
  const { nodePool, pods, instanceTypes, cheapest, requirements, labels, annotations, why } = claim;
  const isMarked = Object.keys(annotations).length > 0;
  return { nodePool, pods, instanceTypes, cheapest, requirements, labels, ...(isMarked && { annotations }), why };
}

/** Rounds sums of prices, whose last digits are inexact. */
function dollars(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}
