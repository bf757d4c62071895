import type { Finding } from '../operator/stuck/findings.js';
import type { AskedQuestion, Explanation, NextWindow, NodesThatStay, Pause, Refused } from '../workflows/messages.js';

/** One NodeClaim with its node, as `stowage status` shows it. */
export interface ClaimRow {
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly node: string;
  /** `launching`, `registering`, `initializing`, `ready` or `terminating`. */
  readonly state: string;
  /** Milliseconds. */
  readonly ageMs: number;
  readonly message: string;
}

/** One workflow that is under way. */
export interface WorkflowRow {
  readonly workflowId: string;
  readonly kind: string;
  readonly nodePool: string;
  /** Empty for a rollout, which is about a NodePool. */
  readonly nodeClaim: string;
  readonly reason: string;
  readonly phase: string;
  readonly blockedBy: string;
  /** All that blocks it, with the pods that are held; as it says of itself. */
  readonly causes?: readonly string[];
  readonly question?: AskedQuestion;
  readonly waitingFor: string;
  readonly until: string;
  readonly startedAt: string;
  readonly awaitingApproval: boolean;
  /** What it says of itself: what it decided, what holds it up. */
  readonly facts: Explanation['facts'];
}

export interface PoolRow {
  readonly nodePool: string;
  readonly ready: string;
  readonly message: string;
  /** As the price counts them: all that have an instance. */
  readonly nodes: number;
  /** So many of them are on their way out; absent for none. */
  readonly draining?: number;
  /** How far it may still grow, by resource: `cpu 8 of 1000`. */
  readonly limits: readonly string[];
  /** Dollars per hour; absent when nobody knows. */
  readonly pricePerHour?: number;
  /** The least that the pods which run on them could cost on nodes of the pool, dollars per hour; absent when nobody knows. */
  readonly leastPossiblePerHour?: number;
  /** So many of these pods are left out of that: nothing could be launched for them now. */
  readonly leastPossibleWithout?: number;
}

/** An object whose condition asks for a person: a DisruptionPolicy that is not valid, a node class that is not ready. */
export interface ProblemRow {
  readonly object: string;
  readonly message: string;
}

/** Pods that find no place, by what keeps them out. */
export interface UnplacedRow {
  readonly why: string;
  readonly pods: readonly string[];
}

/** Drifted nodes of a NodePool. */
export interface DriftRow {
  readonly nodePool: string;
  readonly drifted: number;
  /** Of them: on their way out. */
  readonly disrupting: number;
  readonly nodes: number;
}

/** An offering that is left alone for want of capacity. */
export interface OfferingRow {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly until: string;
}

export interface StatusReport {
  /** What could not be read, and why: the report lacks it. */
  readonly unread: readonly string[];
  /** What does not go on as it should; empty while Karpenter runs. */
  readonly stuck: readonly Finding[];
  /** Who holds Karpenter's leader lease, so that Stowage does nothing; absent for nobody. */
  readonly karpenter?: { readonly holder: string; readonly lease: string };
  readonly unavailable: readonly OfferingRow[];
  readonly pools: readonly PoolRow[];
  /** The least that all that runs could cost on nodes of any pool, dollars per hour; absent when nobody knows. */
  readonly leastPossiblePerHour?: number;
  readonly leastPossibleWithout?: number;
  readonly claims: readonly ClaimRow[];
  readonly workflows: readonly WorkflowRow[];
  /** So many more workflows are under way than `workflows` holds; what needs a person is all there. */
  readonly moreUnderWay: number;
  readonly pauses: readonly Pause[];
  /** What people rejected. */
  readonly refused: readonly Refused[];
  /** What people rejected for good: declined expirations, stopped rollouts. */
  readonly declined: readonly ProblemRow[];
  readonly problems: readonly ProblemRow[];
  readonly unplaced: readonly UnplacedRow[];
  readonly drift: readonly DriftRow[];
  /** Nodes that could go but stay, by why. */
  readonly stays: NodesThatStay['stays'];
  /** So many more could go of which the last look did not tell. */
  readonly moreStay: number;
  /** What opens next for whom; absent when nothing waits for anything. */
  readonly nextWindow?: NextWindow;
}
