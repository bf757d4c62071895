import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Order } from '../people/oversight-messages.js';
import type { ClaimRef, NodeUntil } from '../../core/refs.js';
import type { DecisionSummary, DisruptionCommand, DisruptionReason, GoingNode } from '../../disruption/command.js';

export type {
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionMethod,
  DisruptionReason,
  GoingNode,
} from '../../disruption/command.js';

/*
 * What `disrupt` and the disruptions that it starts or admits say to each other. workflows/messages.ts gives all of it
 * out.
 */

// --- disrupt ---

export interface DisruptInput {
  readonly cluster: string;
  readonly carried?: DisruptState;
}

export interface DisruptState {
  readonly nominations: readonly NodeUntil[];
  readonly pauses: readonly Pause[];
  readonly running: readonly RunningDisruption[];
  /** Slots that somebody waits for, oldest first. */
  readonly requests?: readonly SlotRequest[];
  /** What went lately, for rates and quotas. */
  readonly pastDisruptions?: readonly PastDisruption[];
  /** What commands did to nodes lately. */
  readonly memory?: readonly NodeMemory[];
  readonly steering?: SteeringState;
  readonly questions?: QuestionsState;
  readonly pauseWrites?: PauseWrites;
  /** Milliseconds of the epoch: since when nodes could go and nothing was decided. */
  readonly undecidedSince?: number;
}

/** Orders about pauses that Kubernetes does not have yet: they hold all the same. */
export interface PauseWrites {
  readonly write: readonly Pause[];
  readonly remove: readonly PauseScope[];
}

/** A command that drains nodes, and the nodes or claims that their pods are meant for. */
export interface MoveTargets {
  readonly workflowId: string;
  readonly targets: readonly string[];
}

export interface SteeredCommand extends MoveTargets {
  /** Milliseconds of the epoch: no longer than that. */
  readonly until: number;
}

export interface SteeringState {
  readonly commands: readonly SteeredCommand[];
  /** Nodes that have the soft taint. */
  readonly steered: readonly string[];
}

/** What is remembered of a node that commands concerned, so that none is moved for nothing. */
export interface NodeMemory {
  readonly node: string;
  readonly nodePool: string;
  /** Milliseconds of the epoch: the last command that moved pods to it, or the last decision about it. */
  readonly at: number;
  /** How many commands in a row its pods have behind them. */
  readonly depth?: number;
  /** Decisions about it that came to nothing in a row; until then it is left alone, and why. */
  readonly failures?: number;
  readonly keptUntil?: number;
  readonly why?: string;
  /** Of the last decision that came to nothing: for other reasons the node does not rest. */
  readonly reason?: DisruptionReason;
}

/** What a pause holds up. */
export interface PauseScope {
  readonly kind: 'cluster' | 'nodePool' | 'reason' | 'node';
  /** Name of the pool, reason or node; absent for the cluster. */
  readonly name?: string;
  /** Of a NodePool: this reason alone. */
  readonly reason?: string;
}

export interface Pause {
  readonly scope: PauseScope;
  readonly reason: string;
  readonly actor: string;
  /** Milliseconds of the epoch; absent: until resumed. */
  readonly until?: number;
}

/** A pause as people ask for it: its end as a time or as a length. */
export interface PauseOrder extends Pause {
  /** Go duration such as `2h`; `until` wins over it. */
  readonly ttl?: string;
}

export interface ResumeOrder extends Order {
  readonly scope: PauseScope;
}

export interface RunningDisruption {
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  readonly candidates: readonly GoingNode[];
  /** Milliseconds of the epoch. */
  readonly since: number;
  /** The request that it was admitted by; absent for what `disrupt` started itself. */
  readonly slot?: string;
  /** Whether it is known by the taints of its nodes alone. */
  readonly isAdopted?: boolean;
  /** Whether it wants to hear of pods on their way to its nodes. */
  readonly heeds?: boolean;
  /** Dollars per hour. */
  readonly saves?: number;
}

/** A workflow that runs and has tainted these nodes. */
export type TaintOwner = Pick<RunningDisruption, 'workflowId' | 'reason' | 'candidates'>;

/** A command that waits for a person's consent. It counts against no budget until a slot is granted to it. */
export interface OpenQuestion extends RunningDisruption {
  /** Whether consent was given and the slot granted: it is under way. */
  readonly isGranted?: boolean;
  /** Why its workflow was told that the question makes no sense any more. */
  readonly withdrawn?: string;
  /** Whether something better takes its place, so that nothing rests for it. */
  readonly isSuperseded?: boolean;
}

/** A question whose cause is gone. */
export interface MootQuestion {
  readonly workflowId: string;
  readonly why: string;
  /** Whether something else is to be decided about the same nodes. */
  readonly isSuperseded?: boolean;
}

/** A command that somebody turned down, or that nobody answered for: it is not proposed again for that reason until then. */
export interface Refused {
  readonly reason: DisruptionReason;
  readonly nodes: readonly GoingNode[];
  /** Of what was turned down, dollars per hour: what saves much more may be proposed all the same. */
  readonly saves: number;
  /** In a person's words, such as `rejected by ann (release day)`. */
  readonly why: string;
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly until: number;
}

export interface QuestionsState {
  readonly open: readonly OpenQuestion[];
  readonly refused: readonly Refused[];
}

/** Nodes of one pool that left for one reason at about one time. */
export interface PastDisruption {
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  /** Milliseconds of the epoch: when the last of them was let go. */
  readonly at: number;
  readonly nodes: number;
}

/** How many nodes of a pool may go now for a reason (budgets/allowed-now). */
export interface BudgetView {
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  readonly total: number;
  readonly disrupting: number;
  readonly allowed: number;
  /** The budget that rules, for a person. */
  readonly ruledBy?: string;
  /** When a budget opens or closes next, ISO 8601. */
  readonly changesAt?: string;
}

/** What runs in a NodePool, and what it costs. */
export interface PoolCapacity {
  readonly nodePool: string;
  readonly nodes: number;
  /** Dollars per hour. */
  readonly pricePerHour: number;
}

/** Whether a node may go now, and if not why. */
export interface NodeVerdict {
  readonly node: string;
  readonly verdict: 'may go' | 'going' | 'stays' | 'unknown';
  readonly why: string;
  /** When that was found, ISO 8601. */
  readonly at: string;
}

/** Nodes that could go and stay. */
export interface NodesThatStay {
  readonly stays: readonly { readonly why: string; readonly nodes: readonly string[] }[];
  /** So many more of which the last look did not tell. */
  readonly more: number;
}

/** What opens next for whom. */
export interface NextWindow {
  /** ISO 8601; absent when nothing is known to open. */
  readonly at?: string;
  readonly why: string;
  readonly nodePool?: string;
  readonly reason?: DisruptionReason;
}

/** The last look of `disrupt` at the cluster. */
export interface DisruptionPlan {
  /** ISO 8601. */
  readonly at: string;
  readonly decisions: readonly DecisionSummary[];
  /** Why pools with nodes that could go keep them. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  readonly undecided?: Undecided;
}

/** Nodes that could go, of which nothing has been decided for long. */
export interface Undecided {
  /** ISO 8601. */
  readonly since: string;
  readonly candidates: number;
  /** In words: what keeps them. */
  readonly waitsFor: string;
}

/** How a disruption that `disrupt` started ended, and what it did to which nodes. */
export interface DisruptionFinished {
  readonly workflowId: string;
  readonly outcome?: ConsolidateResult['outcome'];
  readonly reason?: string;
  /** Nodes that pods were moved to: those that were there, and the new ones. */
  readonly targets?: readonly { readonly node: string; readonly nodePool: string }[];
}

/** A command begins to drain; it ends with `disruptionFinished`. */
export const steerSignal = defineSignal<[MoveTargets]>('steer');
/** The answer to it: kube-scheduler knows by now, or soon will. */
export const steeredSignal = defineSignal('steered');
/** Something changed that may make a node removable. */
export const clusterChangedSignal = defineSignal('clusterChanged');
/** Pods were planned onto these nodes: leave them alone until then (provisioning/nominated-nodes). */
export const nominatedSignal = defineSignal<[readonly NodeUntil[]]>('nominated');
export const disruptionFinishedSignal = defineSignal<[DisruptionFinished]>('disruptionFinished');
/** DisruptionPauses were written or deleted: read them. */
export const pausesChangedSignal = defineSignal('pausesChanged');
export const pauseSignal = defineSignal<[PauseOrder]>('pause');
export const resumeSignal = defineSignal<[ResumeOrder]>('resume');
export const pauseUpdate = defineUpdate<readonly Pause[], [PauseOrder]>('pause');
export const resumeUpdate = defineUpdate<readonly Pause[], [ResumeOrder]>('resume');
export const pausesQuery = defineQuery<readonly Pause[]>('pauses');
export const runningQuery = defineQuery<readonly RunningDisruption[]>('running');
export const capacityQuery = defineQuery<readonly PoolCapacity[]>('capacity');
export const budgetsQuery = defineQuery<readonly BudgetView[]>('budgets');
/** From the last look, of which it keeps a bounded part; the update of the same name looks anew. */
export const whyNotQuery = defineQuery<NodeVerdict, [string]>('whyNot');
export const whyNotUpdate = defineUpdate<NodeVerdict, [string]>('whyNot');
export const staysQuery = defineQuery<NodesThatStay>('stays');
export const nextWindowQuery = defineQuery<NextWindow>('nextWindow');
export const disruptionPlanQuery = defineQuery<DisruptionPlan | undefined>('plan');

// --- slots ---

/**
 * Asks `disrupt` for slots to disrupt nodes. It waits there, over restarts too, until a budget, window, rate or pause
 * lets the nodes go; the same id again changes the request. `disrupt` knows at most some hundred: ask again now and then.
 */
export interface SlotRequest {
  readonly id: string;
  /** Who is told by `slotDecidedSignal`, and gets `holdSignal` when a pause begins or ends. */
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  /** At most 100. */
  readonly candidates: readonly GoingNode[];
  /** Whether they may go only all together. */
  readonly together?: boolean;
}

/** Granted nodes count against budgets until they are returned; refused ones wait on, for the reason given. */
export interface SlotDecision {
  readonly id: string;
  /** All that the request was granted so far and has not returned. */
  readonly granted: readonly GoingNode[];
  readonly refused: readonly RefusedNode[];
  /** Milliseconds of the epoch: when what refuses them may change. */
  readonly nextCheckAt?: number;
}

/** A node that waits, and for what: the end of a pause, or for nothing any more since it is gone. */
export interface RefusedNode {
  readonly node: string;
  readonly why: string;
  readonly paused?: boolean;
  readonly gone?: boolean;
}

export const slotRequestSignal = defineSignal<[SlotRequest]>('slotRequest');
export const slotDecidedSignal = defineSignal<[SlotDecision]>('slotDecided');
/** Gives granted nodes back and withdraws waiting ones: all of the request, or those of these names. */
export const slotReturnedSignal =
  defineSignal<[{ readonly id: string; readonly nodes?: readonly string[] }]>('slotReturned');

// --- consolidate ---

export interface ConsolidateInput extends DisruptionCommand {
  readonly cluster: string;
  readonly paused?: boolean;
}

export interface ConsolidateResult {
  readonly outcome: 'done' | 'abandoned' | 'rejected' | 'aborted' | 'withdrawn' | 'failed';
  readonly reason?: string;
  readonly terminated: readonly string[];
  /** Names of the NodeClaims launched in their place. */
  readonly replacements?: readonly string[];
  readonly savedPerHour: number;
}

// --- measureSavings ---

/** A finished command, as far as measuring it needs. */
export interface FinishedCommand {
  /** Workflow id of the disruption. */
  readonly id: string;
  readonly reason: DisruptionReason;
  readonly nodePools: readonly string[];
  readonly nodes: readonly string[];
  /** What was launched in their place. */
  readonly replacements: readonly ClaimRef[];
  /** Of the nodes that went, and of what was to replace them, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly podsMoved: number;
  /** Milliseconds of the epoch. */
  readonly finishedAt: number;
}

export interface MeasureSavingsInput {
  readonly cluster: string;
  readonly command: FinishedCommand;
  /** When to look, milliseconds after the command; default one hour and one day. */
  readonly afterMs?: readonly number[];
}

/** What a command had really saved at some time after it. */
export interface SavingsMeasured {
  /** ISO 8601. */
  readonly at: string;
  readonly afterMs: number;
  /** What was predicted, and what of it the replacements that run really save, dollars per hour. */
  readonly predicted: number;
  readonly realised: number;
  /** Of the replacements: those that still run, and those that went again. */
  readonly running: number;
  readonly gone: number;
  /** New nodes of the same pools since the command, the replacements apart: they may have eaten up what was saved. */
  readonly launchedSince: number;
  readonly launchedSincePerHour: number;
}

export interface MeasureSavingsResult {
  readonly measured: readonly SavingsMeasured[];
}

export const savingsQuery = defineQuery<readonly SavingsMeasured[]>('savings');
