import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { RefusedOffering, RememberedRefusal } from '../core/unavailable-offerings.js';
import type { Resume } from '../packing/types.js';
import type { ExpediteOrder } from './people/oversight-messages.js';
import type { ClaimRef, NodeUntil } from '../core/refs.js';
import type { WatchedTimeState } from './launch/watched-time.js';

export * from './disruption/disruption-messages.js';
export * from './disruption/question-messages.js';
export * from './people/oversight-messages.js';
export * from './static-capacity/replicas-messages.js';
export * from './drift/rollout-messages.js';
export type * from './repair/repair-messages.js';
export type { ClaimPlan, ClaimRef, NodeUntil, NodeRef } from '../core/refs.js';

/*
 * Everything that crosses a workflow's boundary: inputs, results, signals, queries and search attributes. Inputs grow
 * only by optional fields; names on the wire never change. All of it is JSON.
 */

export type TaskQueue = 'control' | 'packing' | 'cloud' | 'drain' | 'urgent';

/**
 * Task queues of a cluster, by urgency: nothing that a cloud's notice began waits behind anything else, and no termination
 * behind a launch.
 * - `urgent`: workflows of interruptions and terminations, and every activity of an interruption.
 * - `drain`: activities of terminations that no notice presses.
 * - `control`: all other workflows, and their calls to Kubernetes.
 * - `cloud`: launches and the upkeep of the cloud, at a limited rate.
 * - `packing`: what computes.
 */
export function taskQueues(cluster: string): Readonly<Record<TaskQueue, string>> {
  return {
    control: `${cluster}/control`,
    packing: `${cluster}/packing`,
    cloud: `${cluster}/cloud`,
    drain: `${cluster}/drain`,
    urgent: `${cluster}/urgent`,
  };
}

/** Workflows that are not to wait behind the others, with the keys by which a server that knows priorities orders them. */
const urgentWorkflows: ReadonlyMap<string, number> = new Map([
  ['handleInterruption', 2],
  ['terminateNode', 2],
]);

/** Where a workflow of this type is started; a server without priorities ignores those. */
export function placeOf(
  cluster: string,
  type: string,
): { readonly taskQueue: string; readonly priority?: { readonly priorityKey: number } } {
  const priorityKey = urgentWorkflows.get(type);
  const { control, urgent } = taskQueues(cluster);
  return priorityKey === undefined ? { taskQueue: control } : { taskQueue: urgent, priority: { priorityKey } };
}

/** Search attributes, registered by the worker at start-up. */
export const searchAttributes = {
  cluster: defineSearchAttributeKey('StowageCluster', 'KEYWORD'),
  nodePool: defineSearchAttributeKey('StowageNodePool', 'KEYWORD'),
  nodeClaim: defineSearchAttributeKey('StowageNodeClaim', 'KEYWORD'),
  instanceId: defineSearchAttributeKey('StowageInstanceId', 'KEYWORD'),
  reason: defineSearchAttributeKey('StowageReason', 'KEYWORD'),
  phase: defineSearchAttributeKey('StowagePhase', 'KEYWORD'),
  blockedBy: defineSearchAttributeKey('StowageBlockedBy', 'KEYWORD'),
  savingsPerHour: defineSearchAttributeKey('StowageSavingsPerHour', 'DOUBLE'),
  awaitingApproval: defineSearchAttributeKey('StowageAwaitingApproval', 'BOOL'),
  paused: defineSearchAttributeKey('StowagePaused', 'BOOL'),
  secondsToSpare: defineSearchAttributeKey('StowageSecondsToSpare', 'INT'),
} as const;

/** The visibility query of the open workflows of a cluster. What visibility tells lags behind by a moment. */
export const openWorkflowsQuery = (cluster: string): string =>
  `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Running'`;

/** A text as visibility queries write it. */
export const quotedForQuery = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A write that the cluster cache must have seen before anything is planned. */
export interface CacheMark {
  readonly kind: 'NodeClaim' | 'Node';
  readonly name: string;
  readonly resourceVersion: string;
}

/** A mark and when it was made, milliseconds of the epoch. */
export interface TimedMark {
  readonly at: number;
  readonly mark: CacheMark;
}

// --- provision ---

/** Batch window in milliseconds (provisioning/batch-window): closes `idleMs` after the last new pod, at most `maxMs` after the first. */
export interface BatchWindow {
  readonly idleMs: number;
  readonly maxMs: number;
}

export interface ProvisionInput {
  readonly cluster: string;
  readonly window: BatchWindow;
  /** Carried over by continue-as-new. */
  readonly carried?: ProvisionState;
}

export interface ProvisionState {
  /** Batches so far, over all runs: part of every claim's name. */
  readonly batches: number;
  /** The first run of the chain, so that numbers never repeat. */
  readonly chain: string;
  /** Pods wait that no pass has looked at. */
  readonly isPending: boolean;
  readonly marks: readonly TimedMark[];
  readonly replacements: readonly ReplacementRequest[];
  readonly deleting: readonly NodeUntil[];
  readonly last?: BatchSummary;
  /** Where the last pass ended, if it left pods for the next. */
  readonly resume?: Resume;
  readonly resting?: readonly RestingPool[];
}

/** A NodePool for which nothing is planned, because the API server refused a NodeClaim of it. */
export interface RestingPool {
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly until: number;
  /** What the API server said. */
  readonly message: string;
}

/** Asks for new homes for the pods of nodes that are about to go. */
export interface ReplacementRequest {
  readonly id: string;
  readonly nodes: readonly string[];
  /** The workflow that `replacementsPlannedSignal` goes to. */
  readonly replyTo: string;
  readonly reason: string;
  /** Milliseconds for which the pods' new places are kept. */
  readonly holdMs: number;
}

/** Nodes that go, or no longer do. */
export interface DeletingNodes {
  readonly nodes: readonly string[];
  /** Until when their pods are planned for as if the nodes were gone, milliseconds of the epoch; 0: the nodes stay. */
  readonly until: number;
  readonly marks: readonly CacheMark[];
  /** The request for replacements that is given up: what others asked for the same nodes holds on. */
  readonly request?: string;
}

export interface ReplacementsPlanned {
  readonly id: string;
  /** Claims being launched; empty when the pods fit on nodes that are there. */
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
  /** Pods that the pass did not look at. */
  readonly deferred: number;
  readonly pricePerHour: number;
  readonly lowerBoundPerHour: number;
}

/** Pods lack a node: which ones is read from the cluster. `again`: none of them is new, so the batch window need not wait for more. */
export const podsPendingSignal = defineSignal<[{ readonly again: boolean }?]>('podsPending');
/** These nodes are about to go and the pods' new places exist already: plan with that; `until` 0 takes it back. */
export const deletingNodesSignal = defineSignal<[DeletingNodes]>('deletingNodes');
export const replaceSignal = defineSignal<[ReplacementRequest]>('replace');
export const configureSignal = defineSignal<[{ readonly window: BatchWindow }]>('configure');
export const replacementsPlannedSignal = defineSignal<[ReplacementsPlanned]>('replacementsPlanned');
export const planQuery = defineQuery<BatchSummary | undefined>('plan');

// --- launchNode ---

export interface LaunchNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Told by `replacementSettledSignal` how it ended. */
  readonly notify?: string;
  /** As `notify`, where several wait for the same node. */
  readonly alsoNotify?: readonly string[];
  readonly reason?: string;
  /** Default 5 and 15 minutes (launch/timeouts). */
  readonly launchTimeoutMs?: number;
  readonly registrationTimeoutMs?: number;
  /** Carried over by continue-as-new: when registration began. */
  readonly launchedAt?: number;
  /** Carried over by continue-as-new: how much of the time to register has been watched. */
  readonly registering?: WatchedTimeState;
}

/** A launch that is to be started, and what people see of it. */
export interface LaunchStart {
  readonly input: LaunchNodeInput;
  readonly summary: string;
  readonly details?: string;
}

export interface LaunchBatchInput {
  readonly cluster: string;
  readonly launches: readonly LaunchStart[];
}

export type LaunchOutcome =
  | { readonly outcome: 'initialized'; readonly nodeName: string; readonly providerId: string }
  | {
      readonly outcome: 'deleted';
      readonly reason: 'insufficient_capacity' | 'nodeclass_not_ready' | 'launch_timeout' | 'registration_timeout';
      readonly message: string;
    }
  | { readonly outcome: 'superseded'; readonly providerId?: string };

/** Something about the claim's Node or the claim itself changed: look again. */
export const nodeChangedSignal = defineSignal('nodeChanged');
/** The claim is being deleted: stop, and tell `replyTo` whether there is an instance. */
export const stopLaunchSignal = defineSignal<[{ readonly replyTo?: string }]>('stopLaunch');
export const launchSettledSignal = defineSignal<[{ readonly providerId?: string }]>('launchSettled');
export const replacementSettledSignal =
  defineSignal<[{ readonly uid: string; readonly outcome: LaunchOutcome['outcome'] }]>('replacementSettled');

// --- terminateNode ---

export interface TerminateNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Why, as in `karpenter_nodeclaims_disrupted_total`: `empty`, `spot_interrupted`, `deleted` and so on. */
  readonly reason: string;
  /** Delete the claim first; false where somebody else already did. */
  readonly deleteClaim: boolean;
  /** Milliseconds of the epoch after which pods are deleted whatever protects them; absent: as the claim says. */
  readonly deadline?: number;
  /** When the cloud takes the instance, milliseconds of the epoch; nothing that protects a pod ends by that. */
  readonly instanceEndsAt?: number;
  /** Carried over by continue-as-new. */
  readonly carried?: TerminationState;
}

export interface TerminationState {
  /** Milliseconds of the epoch. */
  readonly startedAt: number;
  readonly drainingSince: number;
  readonly evicted: number;
  readonly escalation?: { readonly stuckSince?: number; readonly taken: number; readonly refused?: boolean };
  /** Who set the deadline that holds, and who had pods deleted past it. */
  readonly force?: { readonly by?: string; readonly forcedBy?: string };
}

export interface TerminateNodeResult {
  readonly outcome: 'terminated' | 'gone';
  readonly podsEvicted: number;
  readonly durationMs: number;
  /** By whose order pods were deleted in spite of what protects them; absent where all of them left by themselves. */
  readonly forcedBy?: string;
}

/**
 * A more urgent reason, or a person's order: of deadlines the earlier holds, and where none is given protection ends now,
 * while pods keep their own grace. With `instanceEndsAt` alone no deadline is set.
 */
export const expediteSignal = defineSignal<[ExpediteOrder]>('expedite');

// --- handleInterruption, expireNode, collectGarbage ---

export interface InterruptionNotice {
  readonly kind: string;
  readonly instanceId: string;
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly messageId: string;
}

export interface HandleInterruptionInput {
  readonly cluster: string;
  readonly instanceId: string;
  /** What the one before knew, where this one takes the place of a workflow that was terminated. */
  readonly notices?: readonly InterruptionNotice[];
}

export interface HandleInterruptionResult {
  readonly outcome: 'unknown-instance' | 'noted' | 'drained';
  readonly kinds: readonly string[];
  readonly replacements: readonly string[];
  /** Seconds between the node's end and the instance's, where the cloud gave one; negative when it came too late. */
  readonly secondsToSpare?: number;
}

export const interruptionSignal = defineSignal<[InterruptionNotice]>('interruption');

export interface ExpireNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly expiresAt: number;
  /** Carried over by continue-as-new: a person has agreed. */
  readonly agreed?: boolean;
  /** Carried over by continue-as-new: until when a person is asked, milliseconds of the epoch. */
  readonly askedUntil?: number | undefined;
}

export interface ExpireNodeResult {
  readonly outcome: 'replaced' | 'forced' | 'gone' | 'rejected' | 'aborted';
  readonly replacements: readonly string[];
  readonly reason?: string;
}

export interface CollectGarbageInput {
  readonly cluster: string;
}

export interface CollectGarbageResult {
  readonly instances: readonly string[];
  readonly claims: readonly string[];
  /** Nodes whose deletion waited for a claim that is gone. */
  readonly nodes: readonly string[];
  /** What could not be collected, and why: the next collection tries again. */
  readonly failed: readonly { readonly object: string; readonly error: string }[];
}

// --- offerings, refreshCatalogue, sweepCloud ---

export interface OfferingsInput {
  readonly cluster: string;
  /** Carried over by continue-as-new. */
  readonly carried?: readonly RememberedRefusal[];
}

/** Offerings that refused a launch, at most 200 a signal. */
export const offeringsRefusedSignal = defineSignal<[readonly RefusedOffering[]]>('offeringsRefused');
/** An offering that refused before gave an instance. */
export const offeringSucceededSignal =
  defineSignal<[Pick<RefusedOffering, 'capacityType' | 'instanceType' | 'zone' | 'placement'>]>('offeringSucceeded');
/** Refusals that still matter; an offering whose `until` is past may be tried again. */
export const unavailableOfferingsQuery = defineQuery<readonly RememberedRefusal[]>('unavailableOfferings');

export interface ExplainPodInput {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

export interface CloudUpkeepInput {
  readonly cluster: string;
}
