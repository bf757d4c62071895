import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { RefusedOffering, RememberedRefusal } from '../core/unavailable-offerings.js';
import type { Resume } from '../packing/types.js';
import type { ExpediteOrder } from './people/oversight-messages.js';
import type { ClaimRef, NodeUntil } from '../core/refs.js';
import type { OutageAwareTimeoutState } from './launch/outage-aware-timeout.js';

export * from './disruption/disruption-messages.js';
export * from './disruption/question-messages.js';
export * from './people/oversight-messages.js';
export * from './static-capacity/replicas-messages.js';
export * from './drift/rollout-messages.js';
export type * from './repair/repair-messages.js';
export type { ClaimPlan, ClaimRef, NodeUntil, NodeRef } from '../core/refs.js';

/*
 * Everything that crosses a workflow's boundary: inputs, results, signals, queries and search attributes, all as JSON. Workflows
 * that run may be older than this code, so fields are only added, and as optional ones, and no message changes its name.
 */

export type TaskQueue = 'control' | 'packing' | 'cloud' | 'drain' | 'urgent';

/**
 * Task queues of a cluster. They are separate so that an interruption waits behind nothing else, and a termination not behind
 * launches:
 * - `urgent`: workflows of interruptions and terminations, and every activity of an interruption.
 * - `drain`: activities of all other terminations.
 * - `control`: all other workflows, and their calls to Kubernetes.
 * - `cloud`: launches and the upkeep of the cloud, at a limited rate.
 * - `packing`: activities that compute plans.
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

/** Workflow types that run on the `urgent` queue, with their Temporal priority keys (lower runs first). */
const urgentWorkflows: ReadonlyMap<string, number> = new Map([
  ['handleInterruption', 2],
  ['terminateNode', 2],
]);

/** Task queue and priority for starting a workflow of this type. Temporal servers without priorities ignore the key. */
export function startOptions(
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

/** The visibility query of the open workflows of a cluster. Visibility is eventually consistent. */
export const openWorkflowsQuery = (cluster: string): string =>
  `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Running'`;

/** A string literal of a visibility query. */
export const quotedForQuery = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * A write of Stowage's own that the watch cache must contain before the next plan is made: a plan without it would launch a node
 * twice.
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
  /** Number of batches over all runs. NodeClaim names are derived from it. */
  readonly batches: number;
  /** Run id of the first run. NodeClaim names contain it, so that they do not repeat after `provision` was started anew. */
  readonly chain: string;
  /** Whether pods became pending since the last batch was planned. */
  readonly isPending: boolean;
  readonly marks: readonly TimedMark[];
  readonly replacements: readonly ReplacementRequest[];
  readonly deleting: readonly NodeUntil[];
  readonly last?: BatchSummary;
  /** Where the next batch goes on, if the last one had more pods than it could plan. */
  readonly resume?: Resume;
  readonly resting?: readonly RestingPool[];
}

/** A NodePool that is left out of plans for a while, because the API server refused a NodeClaim of it. */
export interface RestingPool {
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly until: number;
  /** What the API server said. */
  readonly message: string;
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
  /** Id of the replacement request that this takes back. Other requests for the same nodes stay. */
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

/**
 * There are pending pods. The signal does not name them: the plan reads them from the watch cache. `again`: none of them is new,
 * so the batch window need not wait for more.
 */
export const podsPendingSignal = defineSignal<[{ readonly again: boolean }?]>('podsPending');
/**
 * These nodes are about to be removed, and nodes for their pods are launched already: plan without the nodes. `until` 0 takes it
 * back.
 */
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
  /** Id of the workflow that gets `replacementSettledSignal` when the launch has ended. */
  readonly notify?: string;
  /** More workflows to notify, where several wait for the same node. */
  readonly alsoNotify?: readonly string[];
  readonly reason?: string;
  /** Default 5 and 15 minutes (launch/timeouts). */
  readonly launchTimeoutMs?: number;
  readonly registrationTimeoutMs?: number;
  /** Carried over by continue-as-new: when registration began. */
  readonly launchedAt?: number;
  /** Carried over by continue-as-new: how much of the registration timeout is used up. */
  readonly registering?: OutageAwareTimeoutState;
}

/** The input of a `launchNode`, and its summary and details in the Temporal UI. */
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

/** The NodeClaim or its Node changed. */
export const nodeChangedSignal = defineSignal('nodeChanged');
/** The NodeClaim is being deleted: stop, and signal `launchSettled` to `replyTo`, which says whether there is an instance. */
export const stopLaunchSignal = defineSignal<[{ readonly replyTo?: string }]>('stopLaunch');
export const launchSettledSignal = defineSignal<[{ readonly providerId?: string }]>('launchSettled');
export const replacementSettledSignal =
  defineSignal<[{ readonly uid: string; readonly outcome: LaunchOutcome['outcome'] }]>('replacementSettled');

// --- terminateNode ---

export interface TerminateNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** The `reason` label of `karpenter_nodeclaims_disrupted_total`: `empty`, `spot_interrupted`, `deleted` and so on. */
  readonly reason: string;
  /** Whether to delete the NodeClaim; false where it is being deleted already. */
  readonly deleteClaim: boolean;
  /**
   * When the drain stops respecting PodDisruptionBudgets and do-not-disrupt, milliseconds of the epoch; absent: as the NodeClaim
   * says.
   */
  readonly deadline?: number;
  /** When the cloud takes the instance, milliseconds of the epoch. It ends no protection of pods. */
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
  /** Who ordered the deadline, and by whose order pods were deleted in spite of their protection. */
  readonly force?: { readonly by?: string; readonly forcedBy?: string };
}

export interface TerminateNodeResult {
  readonly outcome: 'terminated' | 'gone';
  readonly podsEvicted: number;
  readonly durationMs: number;
  /** By whose order pods were deleted in spite of a PodDisruptionBudget or do-not-disrupt; absent where no pod was. */
  readonly forcedBy?: string;
}

/**
 * Speeds up a drain, for a more urgent reason or by a person's order. The earlier of two deadlines holds. Without a deadline the
 * protection of pods ends now; they keep their grace period. With `instanceEndsAt` alone no deadline is set.
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
  /** Notices that a workflow before this one had received when somebody terminated it. */
  readonly notices?: readonly InterruptionNotice[];
}

export interface HandleInterruptionResult {
  readonly outcome: 'unknown-instance' | 'noted' | 'drained';
  readonly kinds: readonly string[];
  readonly replacements: readonly string[];
  /**
   * Seconds from the end of the drain to the end of the instance, where the cloud announced that; negative if the drain took too
   * long.
   */
  readonly secondsToSpare?: number;
}

export const interruptionSignal = defineSignal<[InterruptionNotice]>('interruption');

export interface ExpireNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly expiresAt: number;
  /** Carried over by continue-as-new: whether a person has approved. */
  readonly agreed?: boolean;
  /** Carried over by continue-as-new: when the open approval times out, milliseconds of the epoch. */
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
  /** Nodes whose finalizer was removed, because their NodeClaim is gone. */
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
