import type { ClaimPlan, ClaimRef } from '../core/refs.js';
import { disruptionReasons, type DisruptionReason } from '../api/disruption-reasons.js';

/*
 * The types of a disruption command. The method that finds it, the workflow that carries it out, and the code that shows it to
 * people share them. All of it is JSON.
 */

export { disruptionReasons };
export type { DisruptionReason };

/** Nodes in `alongside`, at most: commands are sent in payloads. */
export const alongsideKept = 300;

export type DisruptionMethod = 'empty' | 'drift' | 'multi' | 'single';

/** A node to be disrupted, in compact form for the decision record. */
export interface Candidate {
  readonly claim: ClaimRef;
  readonly node: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** Dollars per hour; 0 when unknown. */
  readonly pricePerHour: number;
}

/** What budgets need to know of a candidate. */
export type CandidateRef = Pick<Candidate, 'claim' | 'node' | 'nodePool'>;

/** A command: nodes to disrupt for one reason, and the decision about them. */
export interface DisruptionCommand {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  /** Absent: the nodes are deleted without replacements. */
  readonly decision?: Decision;
  /** Delay until the validation, milliseconds; absent: the delay of its method (commands/validation-delay). */
  readonly validationMs?: number;
}

/** A decision and its reasons, in compact form for the decision record. */
export interface Decision {
  readonly method: DisruptionMethod;
  readonly decision: 'delete' | 'replace';
  /** NodeClaims that are launched first. */
  readonly replacements: readonly ClaimPlan[];
  readonly typeLists: readonly (readonly string[])[];
  /** Where pods move to; cut to a bounded number. */
  readonly moves: readonly PodMove[];
  readonly podCount: number;
  /** Price of the candidates, and of their replacements, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** Rejected alternatives, and why. */
  readonly alternatives: readonly Alternative[];
  /** Nodes of earlier disruptions that may still exist. */
  readonly alongside: readonly string[];
  /** Existing nodes that pods move to. */
  readonly targets: readonly TargetNode[];
  /** The DisruptionPolicy that applies, and why it asks for approval. */
  readonly policy?: string;
  readonly approval?: ApprovalAsked;
  /** Whether pods are steered while the nodes are drained (STEER_PODS). */
  readonly steers?: boolean;
}

/** The index of a new node by its name in moves: 1 for `replacement-0-1`; undefined for an existing node. */
export function replacementIndex(name: string): number | undefined {
  const [, index] = /^replacement-\d+-(\d+)$/.exec(name) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** An evicted pod (`namespace/name`) and the node that it should move to. */
export interface PodMove {
  readonly pod: string;
  readonly to: string;
}

/** An existing node that pods move to. */
interface TargetNode {
  readonly node: string;
  readonly nodePool: string;
}

/** Other nodes that were considered, and why they were rejected. */
interface Alternative {
  readonly nodes: string;
  readonly why: string;
}

/** An approval that a policy asks for: its timeout, and the default after that. */
export interface ApprovalAsked {
  readonly timeoutMs: number;
  readonly onTimeout: 'Approve' | 'Reject';
}

/** A decision in words: candidates, replacements and saving. */
export interface DecisionSummary {
  readonly reason: DisruptionReason;
  readonly method: string;
  readonly nodes: readonly string[];
  readonly replacements: readonly string[];
  readonly pods: number;
  /** Dollars per hour. */
  readonly saves: number;
  /** Whether the command is carried out, and if not why. */
  readonly then: string;
}
