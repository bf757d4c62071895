import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { RefusedOffering, RememberedRefusal } from '../core/unavailable-offerings.js';
import type { ExpediteOrder } from './oversight-messages.js';
import type { ClaimRef, LeavingNode } from './refs.js';

export * from './disruption-messages.js';
export * from './oversight-messages.js';
export * from './replicas-messages.js';
export * from './rollout-messages.js';
export type * from './repair-messages.js';
export type { ClaimPlan, ClaimRef, LeavingNode } from './refs.js';

/*
 * Everything that crosses a workflow's boundary: inputs, results, signals, queries and search attributes. Inputs grow
 * only by optional fields; names on the wire never change. All of it is JSON.
 */

/** Task queues of a cluster: `control` runs workflows and short Kubernetes calls. */
export function taskQueues(cluster: string): {
  readonly control: string;
  readonly packing: string;
  readonly cloud: string;
  readonly drain: string;
} {
  return {
    control: `${cluster}/control`,
    packing: `${cluster}/packing`,
    cloud: `${cluster}/cloud`,
    drain: `${cluster}/drain`,
  };
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

/** A write that the cluster cache must have seen before anything is planned. */
export interface CacheMark {
  readonly kind: 'NodeClaim' | 'Node';
  readonly name: string;
  readonly resourceVersion: string;
}

// --- provision ---

/** Batch window in milliseconds (section 2.1): closes `idleMs` after the last new pod, at most `maxMs` after the first. */
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
  readonly pending: readonly string[];
  readonly marks: readonly CacheMark[];
  readonly replacements: readonly ReplacementRequest[];
  readonly leaving: readonly LeavingNode[];
  readonly last?: BatchSummary;
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

export interface ReplacementsPlanned {
  readonly id: string;
  /** Claims being launched; empty when the pods fit on nodes that are there. */
  readonly claims: readonly ClaimRef[];
  /** Pods of the leaving nodes that found no place. */
  readonly unplaced: number;
  readonly firstReason?: string;
}

export interface BatchSummary {
  readonly batch: number;
  readonly claims: readonly { readonly name: string; readonly instanceType: string; readonly pods: number }[];
  readonly onExistingNodes: number;
  readonly unschedulable: number;
  readonly firstReason?: string;
  readonly pricePerHour: number;
  readonly lowerBoundPerHour: number;
}

/** Pods wait for a node; UIDs that are new extend the window. */
export const podsPendingSignal = defineSignal<[readonly string[]]>('podsPending');
/** These nodes are about to go and the pods' new places exist already: plan with that; `until` 0 takes it back. */
export const leavingSignal =
  defineSignal<[{ readonly nodes: readonly string[]; readonly until: number; readonly marks: readonly CacheMark[] }]>(
    'leaving',
  );
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
  /** Default 5 and 15 minutes (section 3.1, liveness). */
  readonly launchTimeoutMs?: number;
  readonly registrationTimeoutMs?: number;
  /** Carried over by continue-as-new: when registration began. */
  readonly launchedAt?: number;
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
  /** Told by `nodeTerminatedSignal` when the claim is gone. */
  readonly notify?: string;
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
  readonly escalation?: { readonly stuckSince?: number; readonly taken: number };
}

export interface TerminateNodeResult {
  readonly outcome: 'terminated' | 'gone';
  readonly podsEvicted: number;
  readonly durationMs: number;
}

/**
 * A more urgent reason, or a person's order: of deadlines the earlier holds, and where none is given protection ends now,
 * while pods keep their own grace. With `instanceEndsAt` alone no deadline is set.
 */
export const expediteSignal = defineSignal<[ExpediteOrder]>('expedite');
export const nodeTerminatedSignal =
  defineSignal<[{ readonly uid: string; readonly outcome: string }]>('nodeTerminated');

// --- handleInterruption, rotateExpired, collectGarbage ---

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
}

export interface HandleInterruptionResult {
  readonly outcome: 'unknown-instance' | 'noted' | 'drained';
  readonly kinds: readonly string[];
  readonly replacements: readonly string[];
  /** Seconds between the node's end and the instance's, where the cloud gave one; negative when it came too late. */
  readonly secondsToSpare?: number;
}

export const interruptionSignal = defineSignal<[InterruptionNotice]>('interruption');

export interface RotateExpiredInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly expiresAt: number;
  /** How long replacing first may take before the node goes without, milliseconds; default one hour. */
  readonly replaceWithinMs?: number;
  /** Follow the pool's DisruptionPolicy, and go through a slot of `disrupt`; absent from what older builds started. */
  readonly byPolicy?: boolean;
  /** Carried over by continue-as-new: a person has agreed. */
  readonly agreed?: boolean;
}

export interface RotateExpiredResult {
  readonly outcome: 'rotated' | 'forced' | 'gone' | 'rejected' | 'aborted';
  readonly replacements: readonly string[];
  readonly reason?: string;
}

export interface CollectGarbageInput {
  readonly cluster: string;
}

export interface CollectGarbageResult {
  readonly instances: readonly string[];
  readonly claims: readonly string[];
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
