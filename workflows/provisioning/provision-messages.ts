import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ClaimRef, NamespacedName, NodeUntil } from '../../core/refs.js';
import type { Resume } from '../../packing/types.js';

/* Messages of `provision`. workflows/messages.ts exports them. */

/**
 * A write by Stowage that the watch cache must contain before the next plan is made; otherwise the plan would launch a
 * node twice.
 */
export interface CacheMark {
  readonly kind: 'NodeClaim' | 'Node';
  readonly name: string;
  readonly resourceVersion: string;
}

/** A mark with its time, in milliseconds of the epoch. */
export interface TimedMark {
  readonly at: number;
  readonly mark: CacheMark;
}

export interface ProvisionInput {
  readonly cluster: string;
  /** Carried over by continue-as-new. */
  readonly carried?: ProvisionState;
}

export interface ProvisionState {
  /** Number of batches over all runs. NodeClaim names are derived from it. */
  readonly batches: number;
  /**
   * Run id of the first run. NodeClaim names are derived from it, so that they do not repeat after `provision` is
   * started again.
   */
  readonly chain: string;
  /** Whether pods became pending since the last batch was planned. */
  readonly isPending: boolean;
  readonly marks: readonly TimedMark[];
  readonly replacements: readonly ReplacementRequest[];
  readonly deleting: readonly NodeUntil[];
  readonly last?: BatchSummary;
  /** Where the next batch continues, if the last one had more pods than it could plan. */
  readonly resume?: Resume;
  readonly resting?: readonly RestingPool[];
}

/**
 * A NodePool that is excluded from plans for a while, or only for `pods`, because the API server refused a NodeClaim of
 * it.
 */
export interface RestingPool {
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly until: number;
  /** The API server's message. */
  readonly message: string;
  /**
   * `namespace/name` of the pods whose requirements were refused; absent if the refusal is not about particular pods.
   */
  readonly pods?: readonly string[];
}

/** Asks `provision` to plan for the pods of nodes that are about to be removed. */
export interface ReplacementRequest {
  readonly id: string;
  readonly nodes: readonly string[];
  /** Id of the workflow that gets `replacementsPlannedSignal`. */
  readonly replyTo: string;
  readonly reason: string;
  /** For how long the room for these pods stays reserved, milliseconds. */
  readonly holdMs: number;
}

/** Nodes that are about to be removed, or that stay after all. */
export interface DeletingNodes {
  readonly nodes: readonly string[];
  /** Until when plans treat the nodes as gone, milliseconds of the epoch; 0: the nodes stay. */
  readonly until: number;
  readonly marks: readonly CacheMark[];
  /** Id of the replacement request that this revokes. Other requests for the same nodes stay. */
  readonly request?: string;
  /** Revokes the reservations of all requests for these nodes, because the workflows that made them have ended. */
  readonly every?: boolean;
}

export interface ReplacementsPlanned {
  readonly id: string;
  /** NodeClaims being launched; empty if the pods fit on existing nodes. */
  readonly claims: readonly ClaimRef[];
  /** Pods of the deleting nodes that found no place. */
  readonly unplaced: number;
  readonly firstReason?: string;
}

export interface BatchSummary {
  readonly batch: number;
  readonly claims: readonly { readonly name: string; readonly instanceType: string; readonly pods: number }[];
  readonly onExistingNodes: number;
  readonly unschedulable: number;
  readonly firstReason?: string;
  /** Pods that the pass did not consider. */
  readonly deferred: number;
  readonly pricePerHour: number;
  readonly lowerBoundPerHour: number;
}

/** There are pending pods. The signal does not name them: the plan reads them from the watch cache. */
export const podsPendingSignal = defineSignal('podsPending');
/**
 * These nodes are about to be removed, and nodes for their pods are launched already: plan without the nodes. `until` 0
 * revokes that.
 */
export const deletingNodesSignal = defineSignal<[DeletingNodes]>('deletingNodes');
export const replaceSignal = defineSignal<[ReplacementRequest]>('replace');
export const replacementsPlannedSignal = defineSignal<[ReplacementsPlanned]>('replacementsPlanned');
export const planQuery = defineQuery<BatchSummary | undefined>('plan');

/** The state of a pod, and why. */
export interface PodExplanation {
  readonly state: 'unknown' | 'bound' | 'ended' | 'waiting' | 'planned' | 'unschedulable';
  readonly why: string;
  /** Further facts, each a sentence. */
  readonly details: readonly string[];
  /** The node that it runs on or is planned onto. */
  readonly node?: string;
}

/** Makes a new plan, without acting on it, and explains the state of one pod: `stowage why pod/NAME`. */
export const explainPodUpdate = defineUpdate<PodExplanation, [NamespacedName]>('explainPod');
