import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DecisionSummary, DisruptionReason, CandidateRef } from '../../disruption/command.js';

export type {
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionMethod,
  DisruptionReason,
  CandidateRef,
} from '../../disruption/command.js';

/* Messages of `disrupt`. workflows/messages.ts exports them. */

export interface DisruptInput {
  readonly cluster: string;
  readonly carried?: DisruptState;
}

export interface DisruptState {
  /** Commands that were started and have not reported their end. */
  readonly commands: readonly RunningDisruption[];
  /** The memory of nodes after commands (disruption/command-memory.ts). */
  readonly memory?: readonly NodeMemory[];
  /** Since when there are candidates and no command, milliseconds of the epoch. */
  readonly undecidedSince?: number;
}

/**
 * The memory of a node after commands, so that its pods are not moved again and again, nor a failed command repeated at
 * once.
 */
export interface NodeMemory {
  readonly node: string;
  readonly nodePool: string;
  /** Time of the last command that moved pods to it or failed for it, milliseconds of the epoch. */
  readonly at: number;
  /** Number of consecutive commands that have moved its pods. */
  readonly depth?: number;
  /** How many consecutive commands for it failed, until when it is therefore not disrupted, and why. */
  readonly failures?: number;
  readonly keptUntil?: number;
  readonly why?: string;
  /** Reason of the last failed command: for other reasons the node may be disrupted. */
  readonly reason?: DisruptionReason;
}

export interface RunningDisruption {
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  readonly candidates: readonly CandidateRef[];
  /** Milliseconds of the epoch. */
  readonly since: number;
  /** Whether the command requires approval. */
  readonly asks?: boolean;
  /** Dollars per hour. */
  readonly saves?: number;
}

/** A command that waits for approval. It counts against no budget. */
export interface OpenQuestion extends RunningDisruption {
  /** Whether it was approved, and waits for its turn. */
  readonly isApproved?: boolean;
}

/** A node that may not be disrupted now, and why. `Pods`: its pods prevent it; `Gone`: it does not exist any more. */
export interface RefusedNode {
  readonly node: string;
  /** For people. */
  readonly why: string;
  readonly for: 'Budget' | 'Pause' | 'Pods' | 'Gone';
}

/** An approval question to withdraw, because its cause is gone. */
export interface QuestionToWithdraw {
  readonly workflowId: string;
  readonly why: string;
  /** Whether another command for the same nodes replaces it. */
  readonly isSuperseded?: boolean;
}

/**
 * A command that a person rejected or aborted, or that was not approved in time. It is not proposed again for its
 * reason until `until`.
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

/** The number of nodes of a NodePool, their price, and the least possible price. */
export interface PoolCapacity {
  readonly nodePool: string;
  readonly nodes: number;
  /** Dollars per hour. */
  readonly pricePerHour: number;
  /**
   * The least price for the pods that run on these nodes, on new nodes of the pool (surfaces/least-possible); absent
   * where it is not known.
   */
  readonly leastPossiblePerHour?: number;
  /**
   * Number of these pods that the price does not include, because nothing could be launched for them now; absent for
   * none.
   */
  readonly leastPossibleWithout?: number;
}

/** Whether a node may be disrupted now, and if not why. */
export interface NodeVerdict {
  readonly node: string;
  readonly verdict: 'may go' | 'going' | 'stays' | 'unknown';
  readonly why: string;
  /** Time of this finding, ISO 8601. */
  readonly at: string;
}

/** Nodes that could be disrupted and that no command takes yet, grouped by what they wait for. */
export type NodeWaits = readonly {
  readonly verdict: 'may go' | 'stays';
  readonly why: string;
  readonly nodes: readonly string[];
}[];

/** Data of a search for people's questions. */
export interface DisruptionDetails {
  readonly hash: string;
  readonly budgets: readonly BudgetView[];
  /** Number and price of the nodes of each NodePool. */
  readonly capacity?: readonly PoolCapacity[];
  /** What the nodes of all NodePools cost at least, dollars per hour (surfaces/least-possible). */
  readonly leastPossiblePerHour?: number;
  /** Number of pods that this price does not include; absent for none. */
  readonly leastPossibleWithout?: number;
  /** Whether `budgets` was cut. */
  readonly budgetsCut?: boolean;
  /** All decisions of this search, also those that are only recommended. */
  readonly decisions: readonly DecisionSummary[];
  /** Why consolidatable or drifted nodes stay, by reason; cut to a bounded size. */
  readonly stays: readonly { readonly why: string; readonly nodes: readonly string[] }[];
  /** How many more such nodes there are; absent for none. */
  readonly staysMore?: number;
  /** Waits of nodes that may be disrupted and that no command takes yet; absent for none. */
  readonly waits?: NodeWaits;
}

/** What the last search of `disrupt` for commands found. */
export interface DisruptionFindings {
  /** ISO 8601. */
  readonly at: string;
  /** Why NodePools do not disrupt their candidates, in words. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  readonly details?: DisruptionDetails;
  /** The last decisions, of this search or an earlier one. */
  readonly decisions: readonly DecisionSummary[];
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

/** The cluster changed in a way that may make nodes candidates. */
export const clusterChangedSignal = defineSignal('clusterChanged');
export const runningQuery = defineQuery<readonly RunningDisruption[]>('running');
/** Undefined before the first search. */
export const findingsQuery = defineQuery<DisruptionFindings | undefined>('findings');
/** Reads the cluster. */
export const whyNotUpdate = defineUpdate<NodeVerdict, [string]>('whyNot');
