import type { DisruptionCommand } from '../../disruption/command.js';
import type {
  Candidate,
  Decision,
  DisruptionDetails,
  DisruptionMethod,
  DisruptionReason,
  CandidateRef,
  QuestionToWithdraw,
  ReconsiderOrder,
  Refused,
  RefusedNode,
} from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption-context/contract.js';

export interface DisruptionsFound {
  readonly commands: readonly DisruptionCommand[];
  /** Milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Why NodePools do not disrupt their candidates, in words. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** How many nodes are consolidatable or drifted. */
  readonly candidates?: number;
  /** Open questions whose cause is gone. */
  readonly moot?: readonly QuestionToWithdraw[];
  /** Whether to search again at once, since other methods may find more (candidates/methods-in-order). */
  readonly again?: boolean;
  /** Data for people's queries; absent if unchanged. */
  readonly details?: DisruptionDetails;
}

export interface DisruptionActivities {
  /**
   * Finds the commands to start now, and when to search again if nothing changes. With `leftOvers` it then removes what
   * is left of disruptions whose workflow has ended.
   */
  findDisruptions(input: DisruptionView & { readonly leftOvers?: true }): Promise<DisruptionsFound & LeftOversRemoved>;
  /** The candidates that may still be disrupted (commands/validation), and why the others may not. */
  validateCandidates(input: {
    reason: DisruptionReason;
    candidates: readonly Candidate[];
    /** Absent for the removal of empty nodes. */
    decision?: Pick<Decision, 'method' | 'replacements' | 'typeLists' | 'alongside'> & Partial<Pick<Decision, 'moves'>>;
    /** NodeClaims that were created for the decision already, in place of its replacements. */
    created?: readonly string[];
  }): Promise<{
    readonly valid: readonly Candidate[];
    readonly dropped: readonly { readonly node: string; readonly why: string }[];
  }>;
  /**
   * Taints the nodes that pauses and budgets allow now, and sets DisruptionReason; returns the marked nodes, and what
   * the others wait for (budgets/counted-at-the-taint).
   */
  taintCandidates(input: {
    reason: string;
    /** Id of the workflow that removes the taints if the nodes stay. */
    owner?: string;
    /** The first run of `owner`. */
    ownerRun?: string;
    /** When the cloud gave the notice whose kind is `reason`. */
    noticedAt?: number;
    candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
    /** Whether either all nodes are tainted or none. */
    together?: boolean;
    /** Of a command: a node whose pods prevent it keeps no taint (commands/checked-after-the-taint). */
    method?: DisruptionMethod;
    /** The kinds of refusals that the workflow waits for, which are recorded on the NodeClaims. */
    waitsFor?: readonly RefusedNode['for'][];
  }): Promise<{
    readonly tainted: readonly string[];
    readonly refused?: readonly RefusedNode[];
    /** When a refusal may change by time alone, milliseconds of the epoch. */
    readonly nextCheckAt?: number;
    /** Nodes of other disruptions, which have no room for the pods of these (people/one-after-another). */
    readonly alongside?: readonly string[];
  }>;
  /** Of nodes that were tainted some time ago, those that must stay after all, and why; and the pause that applies. */
  confirmCandidates(input: {
    readonly method: DisruptionMethod;
    readonly reason: DisruptionReason;
    readonly candidates: readonly CandidateRef[];
  }): Promise<{
    readonly blocked: readonly { readonly node: string; readonly why: string }[];
    /** The pause that applies to them. */
    readonly paused?: string;
  }>;
  /** Events on the nodes of a disruption (events/of-a-disruption). */
  publishDisruption(input: { nodes: readonly string[]; reason: string; message: string }): Promise<void>;
  /** Removes the taints from nodes that stay, but not those that another workflow than `owner` has set. */
  untaintCandidates(input: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[]; owner?: string }): Promise<void>;
  /** Records on the NodeClaims that a command waits for approval, and its saving. */
  noteQuestion(input: {
    readonly candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
    /** Id of the workflow. */
    readonly workflow: string;
    readonly reason: DisruptionReason;
    readonly why: string;
    readonly until?: number;
    readonly saves?: number;
  }): Promise<void>;
  /** Records that a person refused a command, so that it is not proposed again for a while. */
  noteRefused(
    input: Pick<Refused, 'reason' | 'nodes' | 'saves' | 'why'> & { readonly outcome: 'rejected' | 'aborted' },
  ): Promise<void>;
  /** Revokes refusals, and returns those that are left. Fails if none matches. */
  reconsider(order: ReconsiderOrder): Promise<readonly Refused[]>;
}

/** What was left of disruptions whose workflow has ended (candidates/left-over-taints). */
export interface LeftOversRemoved {
  /** The nodes whose taints and records were removed. */
  readonly released?: readonly string[];
  /** Ids of the commands whose workflow is closed. */
  readonly ended?: readonly string[];
}
