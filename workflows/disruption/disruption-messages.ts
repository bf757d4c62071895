import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Order } from '../people/oversight-messages.js';
import type { ClaimRef, NodeUntil } from '../../core/refs.js';
import type { DecisionSummary, DisruptionCommand, DisruptionReason, CandidateRef } from '../../disruption/command.js';

export type {
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionMethod,
  DisruptionReason,
  CandidateRef,
} from '../../disruption/command.js';

/* Messages between `disrupt` and the disruptions that it starts or grants slots to. workflows/messages.ts exports them. */

// --- disrupt ---

export interface DisruptInput {
  readonly cluster: string;
  readonly carried?: DisruptState;
}

export interface DisruptState {
  readonly nominations: readonly NodeUntil[];
  readonly pauses: readonly Pause[];
  readonly running: readonly RunningDisruption[];
  /** Open requests for slots, oldest first. */
  readonly requests?: readonly SlotRequest[];
  /** Disruptions of the last month, for rates and quotas. */
  readonly pastDisruptions?: readonly PastDisruption[];
  /** What is remembered of nodes after commands (disruption/command-memory.ts). */
  readonly memory?: readonly NodeMemory[];
  readonly steering?: SteeringState;
  readonly questions?: QuestionsState;
  readonly pauseWrites?: PauseWrites;
  /** Since when there are candidates and no command, milliseconds of the epoch. */
  readonly undecidedSince?: number;
}

/** Pauses and resumptions that have still to be written to Kubernetes. They are in force already. */
export interface PauseWrites {
  readonly write: readonly Pause[];
  readonly remove: readonly PauseScope[];
}

/** A command that drains nodes, and the nodes or NodeClaims that its pods should move to. */
export interface MoveTargets {
  readonly workflowId: string;
  readonly targets: readonly string[];
}

export interface SteeredCommand extends MoveTargets {
  /** When steering ends at the latest, milliseconds of the epoch. */
  readonly until: number;
}

export interface SteeringState {
  readonly commands: readonly SteeredCommand[];
  /** Nodes that have the soft taint now. */
  readonly steered: readonly string[];
}

/**
 * What is remembered of a node after commands, so that its pods are not moved again and again, nor a failed command repeated at
 * once.
 */
export interface NodeMemory {
  readonly node: string;
  readonly nodePool: string;
  /** Time of the last command that moved pods to it or failed for it, milliseconds of the epoch. */
  readonly at: number;
  /** How many commands in a row have moved its pods. */
  readonly depth?: number;
  /** How many commands for it failed in a row, until when it is therefore left alone, and why. */
  readonly failures?: number;
  readonly keptUntil?: number;
  readonly why?: string;
  /** Reason of the last failed command: for other reasons the node is not left alone. */
  readonly reason?: DisruptionReason;
}

/** What a pause applies to. */
export interface PauseScope {
  readonly kind: 'cluster' | 'nodePool' | 'reason' | 'node';
  /** Name of the pool, reason or node; absent for the cluster. */
  readonly name?: string;
  /** Limits a pause of a NodePool to this reason. */
  readonly reason?: string;
}

export interface Pause {
  readonly scope: PauseScope;
  readonly reason: string;
  readonly actor: string;
  /** Milliseconds of the epoch; absent: until resumed. */
  readonly until?: number;
}

/** A pause as people order it: with its end as a time or as a duration. */
export interface PauseOrder extends Pause {
  /** A Go duration such as `2h`; ignored if `until` is given. */
  readonly ttl?: string;
}

export interface ResumeOrder extends Order {
  readonly scope: PauseScope;
}

export interface RunningDisruption {
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  readonly candidates: readonly CandidateRef[];
  /** Milliseconds of the epoch. */
  readonly since: number;
  /** Id of the request that its slot was granted for; absent for commands of `disrupt` itself. */
  readonly slot?: string;
  /** Whether it was adopted because of its taints (disruption/adoption.ts). */
  readonly isAdopted?: boolean;
  /** Whether it has to be told of pods that are nominated to its nodes. */
  readonly wantsNominations?: boolean;
  /** Dollars per hour. */
  readonly saves?: number;
}

/** A running workflow and the nodes that it has tainted. */
export type TaintOwner = Pick<RunningDisruption, 'workflowId' | 'reason' | 'candidates'>;

/** A command that waits for approval. It counts against no budget until its slot is granted. */
export interface OpenQuestion extends RunningDisruption {
  /** Whether it was approved and its slot granted, so that it counts as running. */
  readonly isGranted?: boolean;
  /** Why it was withdrawn. */
  readonly withdrawn?: string;
  /** Whether another command replaces it, so that its nodes are not left alone for a while. */
  readonly isSuperseded?: boolean;
}

/** A question to withdraw, because its cause is gone. */
export interface MootQuestion {
  readonly workflowId: string;
  readonly why: string;
  /** Whether another command for the same nodes replaces it. */
  readonly isSuperseded?: boolean;
}

/**
 * A command that a person rejected or aborted, or nobody approved in time. It is not proposed again for its reason until `until`.
 */
export interface Refused {
  readonly reason: DisruptionReason;
  readonly nodes: readonly CandidateRef[];
  /** Its saving, dollars per hour: a command that saves much more may be proposed before that. */
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

/** Nodes of one NodePool that were disrupted for one reason at about one time. */
export interface PastDisruption {
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  /** When the last of them began to be disrupted, milliseconds of the epoch. */
  readonly at: number;
  readonly nodes: number;
}

/** How many nodes of a NodePool may be disrupted now for a reason (budgets/allowed-now). */
export interface BudgetView {
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  readonly total: number;
  readonly disrupting: number;
  readonly allowed: number;
  /** The budget that applies, in words. */
  readonly ruledBy?: string;
  /** When a budget opens or closes next, ISO 8601. */
  readonly changesAt?: string;
}

/** Nodes of a NodePool, what they cost, and what they would cost at least. */
export interface PoolCapacity {
  readonly nodePool: string;
  readonly nodes: number;
  /** Dollars per hour. */
  readonly pricePerHour: number;
  /** For the pods that run on them, on new nodes of the pool (surfaces/least-possible); absent where it is not known. */
  readonly leastPossiblePerHour?: number;
}

/** Whether a node may be disrupted now, and if not why. */
export interface NodeVerdict {
  readonly node: string;
  readonly verdict: 'may go' | 'going' | 'stays' | 'unknown';
  readonly why: string;
  /** Time of this finding, ISO 8601. */
  readonly at: string;
}

/** What nodes wait for that nothing forbids to go, and that no command takes yet; grouped by that. */
export type NodeWaits = readonly {
  readonly verdict: 'may go' | 'stays';
  readonly why: string;
  readonly nodes: readonly string[];
}[];

/** Nodes that are consolidatable or drifted and are not disrupted. */
export interface NodesThatStay {
  readonly stays: readonly { readonly why: string; readonly nodes: readonly string[] }[];
  /** How many more there are than the list has. */
  readonly more: number;
}

/** When the next budget or window opens, and for which NodePools. */
export interface NextWindow {
  /** ISO 8601; absent when nothing is known to open. */
  readonly at?: string;
  readonly why: string;
  readonly nodePool?: string;
  readonly reason?: DisruptionReason;
}

/** What `disrupt` found when it last looked for commands. */
export interface DisruptionPlan {
  /** ISO 8601. */
  readonly at: string;
  readonly decisions: readonly DecisionSummary[];
  /** NodePools whose candidates are held back, and by what. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  readonly undecided?: Undecided;
}

/** Candidates for which no command was found for a long time. */
export interface Undecided {
  /** ISO 8601. */
  readonly since: string;
  readonly candidates: number;
  /** What holds them back, in words. */
  readonly waitsFor: string;
}

/** How a disruption ended, and which nodes its pods moved to. */
export interface DisruptionFinished {
  readonly workflowId: string;
  readonly outcome?: ConsolidateResult['outcome'];
  readonly reason?: string;
  /** Nodes that pods were moved to, existing and launched ones. */
  readonly targets?: readonly { readonly node: string; readonly nodePool: string }[];
}

/** A command begins to drain: steer its pods. `disruptionFinished` ends that. */
export const steerSignal = defineSignal<[MoveTargets]>('steer');
/** The answer to `steer`: the soft taints are written. */
export const steeredSignal = defineSignal('steered');
/** The cluster changed in a way that may make nodes candidates. */
export const clusterChangedSignal = defineSignal('clusterChanged');
/** Pods are nominated to these nodes: do not disrupt them until then (provisioning/nominated-nodes). */
export const nominatedSignal = defineSignal<[readonly NodeUntil[]]>('nominated');
export const disruptionFinishedSignal = defineSignal<[DisruptionFinished]>('disruptionFinished');
/** DisruptionPauses were written or deleted in Kubernetes. */
export const pausesChangedSignal = defineSignal('pausesChanged');
export const pauseSignal = defineSignal<[PauseOrder]>('pause');
export const resumeSignal = defineSignal<[ResumeOrder]>('resume');
export const pauseUpdate = defineUpdate<readonly Pause[], [PauseOrder]>('pause');
export const resumeUpdate = defineUpdate<readonly Pause[], [ResumeOrder]>('resume');
export const pausesQuery = defineQuery<readonly Pause[]>('pauses');
export const runningQuery = defineQuery<readonly RunningDisruption[]>('running');
export const capacityQuery = defineQuery<readonly PoolCapacity[]>('capacity');
/** What the nodes of all NodePools would cost at least, dollars per hour (surfaces/least-possible). */
export const leastPossibleQuery = defineQuery<number | undefined>('leastPossible');
export const budgetsQuery = defineQuery<readonly BudgetView[]>('budgets');
/** Answers from the last findings, which are bounded; the update of the same name looks at the cluster again. */
export const whyNotQuery = defineQuery<NodeVerdict, [string]>('whyNot');
export const whyNotUpdate = defineUpdate<NodeVerdict, [string]>('whyNot');
export const staysQuery = defineQuery<NodesThatStay>('stays');
export const nextWindowQuery = defineQuery<NextWindow>('nextWindow');
export const disruptionPlanQuery = defineQuery<DisruptionPlan | undefined>('plan');

// --- slots ---

/**
 * Requests slots for nodes. The request waits in `disrupt`, also over restarts, until budgets, windows, rates and pauses allow
 * it. The same id again replaces the request. `disrupt` keeps a bounded number of requests, so repeat it now and then.
 */
export interface SlotRequest {
  readonly id: string;
  /** Id of the workflow that gets `slotDecidedSignal`, and `holdSignal` when a pause begins or ends. */
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  /** At most 100. */
  readonly candidates: readonly CandidateRef[];
  /** Whether slots are of use only for all nodes at once. */
  readonly together?: boolean;
}

/** Granted nodes count against budgets until they are returned; refused ones go on waiting. */
export interface SlotDecision {
  readonly id: string;
  /** All nodes granted for the request so far and not returned. */
  readonly granted: readonly CandidateRef[];
  readonly refused: readonly RefusedNode[];
  /** When the refusal may change, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
}

/** A node whose slot was refused: `why`, whether by a pause, or because the node is gone. */
export interface RefusedNode {
  readonly node: string;
  readonly why: string;
  readonly paused?: boolean;
  readonly gone?: boolean;
}

export const slotRequestSignal = defineSignal<[SlotRequest]>('slotRequest');
export const slotDecidedSignal = defineSignal<[SlotDecision]>('slotDecided');
/** Returns granted nodes and withdraws waiting ones: all of the request, or the named ones. */
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
  /** Names of the NodeClaims that replace them. */
  readonly replacements?: readonly string[];
  readonly savedPerHour: number;
}

// --- measureSavings ---

/** What `measureSavings` needs to know of a finished command. */
export interface FinishedCommand {
  /** Workflow id of the disruption. */
  readonly id: string;
  readonly reason: DisruptionReason;
  readonly nodePools: readonly string[];
  readonly nodes: readonly string[];
  /** NodeClaims that were launched as replacements. */
  readonly replacements: readonly ClaimRef[];
  /** Price of the disrupted nodes and predicted price of their replacements, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly podsMoved: number;
  /** Milliseconds of the epoch. */
  readonly finishedAt: number;
}

export interface MeasureSavingsInput {
  readonly cluster: string;
  readonly command: FinishedCommand;
  /** When to measure, milliseconds after the command; default one hour and one day. */
  readonly afterMs?: readonly number[];
}

/** The measured saving of a command some time after it. */
export interface SavingsMeasured {
  /** ISO 8601. */
  readonly at: string;
  readonly afterMs: number;
  /** The predicted saving, and the one by the replacements that really run, dollars per hour. */
  readonly predicted: number;
  readonly realised: number;
  /** How many replacements still run, and how many are gone. */
  readonly running: number;
  readonly gone: number;
  /** Nodes launched in the same NodePools since the command, other than its replacements: they may have used up the saving. */
  readonly launchedSince: number;
  readonly launchedSincePerHour: number;
}

export interface MeasureSavingsResult {
  readonly measured: readonly SavingsMeasured[];
}

export const savingsQuery = defineQuery<readonly SavingsMeasured[]>('savings');
