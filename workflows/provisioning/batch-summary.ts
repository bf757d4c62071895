import type { CreatedClaim, PlanNodesResult } from '../../activities/provisioning/contract.js';
import { dollars, counted } from '../../core/text.js';
import type { BatchSummary, ClaimPlan, Explanation } from '../messages.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

/** Bounds the answer of the `plan` query. */
const rowsKept = 50;

/** The answer of the `plan` query after a batch. */
export function batchSummary(batch: number, plan: Planned, claims: BatchSummary['claims']): BatchSummary {
  return {
    batch,
    claims: claims.slice(0, rowsKept),
    onExistingNodes: plan.onExistingNodes,
    unschedulable: plan.unschedulable,
    ...(plan.firstReason === undefined ? {} : { firstReason: plan.firstReason }),
    deferred: plan.deferred,
    pricePerHour: plan.pricePerHour,
    lowerBoundPerHour: plan.lowerBoundPerHour,
  };
}

/** The facts of a batch for the Temporal UI. */
export function batchFacts(batch: number, plan: Planned, claimsCreated: number): Explanation['facts'] {
  return {
    batch,
    'claims created': claimsCreated,
    'pods on existing nodes': plan.onExistingNodes,
    unschedulable: plan.unschedulable,
    'first reason': plan.firstReason ?? '',
    'left for the next pass': plan.deferred,
    'left out': plan.leftOut ?? '',
    'price per hour': dollars(plan.pricePerHour),
  };
}

export function rowOf({ name }: CreatedClaim, plan: ClaimPlan | undefined): BatchSummary['claims'][number] {
  return { name, instanceType: plan?.cheapest.instanceType ?? '', pods: plan?.podCount ?? 0 };
}

/** The NodeClaims of a plan in one line. */
export function claimsText(claims: readonly ClaimPlan[]): string {
  const first = claims[0]!;
  const rest = claims.length === 1 ? '' : ` and ${claims.length - 1} more`;
  return `${first.nodePool}: ${first.cheapest.instanceType} for ${counted(first.podCount, 'pod')}${rest}`;
}
