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

/** One active workflow. */
export interface WorkflowRow {
  readonly workflowId: string;
  readonly kind: string;
  readonly nodePool: string;
  /** Empty for a rollout, which concerns a NodePool. */
  readonly nodeClaim: string;
  readonly reason: string;
  readonly phase: string;
  readonly blockedBy: string;
  /** Everything that blocks it, including held pods; from the workflow. */
  readonly causes?: readonly string[];
  readonly question?: AskedQuestion;
  readonly waitingFor: string;
  readonly until: string;
  readonly startedAt: string;
  readonly awaitingApproval: boolean;
  /** Facts from the workflow: its decision, and what blocks it. */
  readonly facts: Explanation['facts'];
}

export interface PoolRow {
  readonly nodePool: string;
  readonly ready: string;
  readonly message: string;
  /** Nodes that the price counts: all with an instance. */
  readonly nodes: number;
  /** How many of them are deleting; absent for none. */
  readonly draining?: number;
  /** Remaining capacity by resource: `cpu 8 of 1000`. */
  readonly limits: readonly string[];
  /** Dollars per hour; absent if unknown. */
  readonly pricePerHour?: number;
  /** Lower bound of the cost of their pods on nodes of the pool, dollars per hour; absent if unknown. */
  readonly leastPossiblePerHour?: number;
  /** Number of these pods that the bound omits: nothing could be launched for them now. */
  readonly leastPossibleWithout?: number;
}

/** An object whose condition needs attention: an invalid DisruptionPolicy, a node class that is not ready. */
export interface ProblemRow {
  readonly object: string;
  readonly message: string;
}

/** Unschedulable pods, by the reason. */
export interface UnplacedRow {
  readonly why: string;
  readonly pods: readonly string[];
}

/** Drifted nodes of a NodePool. */
export interface DriftRow {
  readonly nodePool: string;
  readonly drifted: number;
  /** How many of them are deleting. */
  readonly disrupting: number;
  readonly nodes: number;
}

/** An offering that is not used for lack of capacity. */
export interface OfferingRow {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly until: string;
}

export interface StatusReport {
  /** What could not be read, and why: missing in the report. */
  readonly unread: readonly string[];
  /** Work that is stuck; empty while Karpenter runs. */
  readonly stuck: readonly Finding[];
  /** The holder of Karpenter's leader lease, while Stowage does nothing; absent for none. */
  readonly karpenter?: { readonly holder: string; readonly lease: string };
  readonly unavailable: readonly OfferingRow[];
  readonly pools: readonly PoolRow[];
  /** Lower bound of the cost of all running pods on nodes of any pool, dollars per hour; absent if unknown. */
  readonly leastPossiblePerHour?: number;
  readonly leastPossibleWithout?: number;
  readonly claims: readonly ClaimRow[];
  readonly workflows: readonly WorkflowRow[];
  /** Number of active workflows not in `workflows`; all that need a user are in it. */
  readonly moreUnderWay: number;
  readonly pauses: readonly Pause[];
  /** Disruptions that users rejected. */
  readonly refused: readonly Refused[];
  /** Permanent rejections: declined expirations and repairs, stopped rollouts. */
  readonly declined: readonly ProblemRow[];
  readonly problems: readonly ProblemRow[];
  readonly unplaced: readonly UnplacedRow[];
  readonly drift: readonly DriftRow[];
  /** Nodes that could be disrupted but stay, by reason. */
  readonly stays: NodesThatStay['stays'];
  /** Number of further such nodes without a recorded reason. */
  readonly moreStay: number;
  /** The next window or budget to open, and for what; absent if nothing waits. */
  readonly nextWindow?: NextWindow;
}
