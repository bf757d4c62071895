import type { Resume } from '../../packing/types.js';
import type { CacheMark, ClaimPlan, ClaimRef, RestingPool } from '../../workflows/messages.js';

export interface PlanNodesInput {
  readonly marks: readonly CacheMark[];
  /** Nodes whose pods are to be placed elsewhere. */
  readonly without: readonly string[];
  /** Where the previous pass ended, if it left pods for this one. */
  readonly resume?: Resume;
  /** NodePools that are excluded for a while, which the cache may not show yet. */
  readonly resting?: readonly RestingPool[];
}

export type PlanNodesResult =
  | {
      /** State that packing needs is missing (claims without an instance, pools not evaluated): try again soon. */
      readonly state: 'notReady';
      readonly reason: string;
    }
  | {
      readonly state: 'planned';
      readonly claims: readonly ClaimPlan[];
      readonly typeLists: readonly (readonly string[])[];
      readonly onExistingNodes: number;
      readonly unschedulable: number;
      readonly firstReason?: string;
      /** Pods that this pass did not consider. */
      readonly deferred: number;
      /** Objects that planning cannot work with, and why, for a person; absent where there are none. */
      readonly leftOut?: string;
      /** Where the next pass continues, at once; absent if every pod was considered. */
      readonly resume?: Resume;
      /** Pods of deleting nodes that found no place. */
      readonly unplacedOfDeletingNodes: number;
      /** For each node in `without`, what its pods wait for; absent: each NodeClaim counts for all these nodes. */
      readonly deleting?: readonly DeletingNodePlan[];
      readonly pricePerHour: number;
      readonly lowerBoundPerHour: number;
      /** The plan was larger than one pass creates: plan again at once. */
      readonly more: boolean;
    };

/** What the pods of one deleting node wait for. */
export interface DeletingNodePlan {
  readonly node: string;
  /** Indices of the plan's claims that they go to. */
  readonly claims: readonly number[];
  /** NodeClaims of earlier passes that they are planned onto and that are not initialized yet. */
  readonly coming: readonly ClaimRef[];
  /** How many have no place. */
  readonly unplaced: number;
  readonly firstReason?: string;
}

export interface CreatedClaim extends ClaimRef {
  readonly nodePool: string;
  readonly resourceVersion: string;
  readonly index: number;
  /** Whether this call created it, so that nothing can have been launched for it. */
  readonly isNew?: boolean;
}

export interface RefusedClaim {
  readonly index: number;
  readonly reason: string;
}

export interface ClaimsCreated {
  readonly created: readonly CreatedClaim[];
  readonly refused: readonly RefusedClaim[];
  /** NodePools of which the API server refused a claim: nothing is planned for them for a while. */
  readonly resting: readonly RestingPool[];
}

export interface CreateClaimsInput {
  /** Names derive from it, so that a second attempt finds the claims of the first. */
  readonly planId: string;
  readonly claims: readonly ClaimPlan[];
  readonly typeLists: readonly (readonly string[])[];
  readonly reason: string;
  /** Ids of the workflows that wait for the launch of each claim, by its index; absent where none does. */
  readonly waiters?: readonly (readonly string[])[];
}

export interface PlanningActivities {
  planNodes(input: PlanNodesInput): Promise<PlanNodesResult>;
}

export interface ClaimActivities {
  /**
   * Creates the NodeClaims and starts their launches. Fails only for outages: a refusal by the API server is the outcome
   * of that one NodeClaim.
   */
  createClaims(input: CreateClaimsInput): Promise<ClaimsCreated>;
}
