import type { DisruptionReason } from '../api/stowage/disruption-policy.js';
import type { ClaimPlan, ClaimRef } from '../core/refs.js';

/*
 * What is decided about nodes that are to go, in the words that everybody uses for it: the method that finds it, the workflow that carries it out, and
 * whoever shows it to people. All of it is JSON.
 */

export type { DisruptionReason };

export type DisruptionMethod = 'empty' | 'drift' | 'multi' | 'single';

/** A node that is to go, as compact as a decision record can be. */
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

/** What budgets need to know of a node that is going. */
export type CandidateRef = Pick<Candidate, 'claim' | 'node' | 'nodePool'>;

/** Nodes that are to go for one reason, and what was decided about them. */
export interface DisruptionCommand {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  /** Absent: the nodes are deleted, and nothing takes their place. */
  readonly decision?: Decision;
  /** How long the decision has still to prove stable, milliseconds; otherwise as long as its method asks (commands/validation-delay). */
  readonly validationMs?: number;
}

/** What was decided about some nodes and why, as compact as a record can be. */
export interface Decision {
  readonly method: DisruptionMethod;
  readonly decision: 'delete' | 'replace';
  /** What is launched before anything goes. */
  readonly replacements: readonly ClaimPlan[];
  readonly typeLists: readonly (readonly string[])[];
  /** Where pods go, as far as there is room for the list. */
  readonly moves: readonly PodMove[];
  readonly podCount: number;
  /** Of the nodes that go, and of what replaces them, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** What else was looked at, and why it was not taken. */
  readonly alternatives: readonly Alternative[];
  /** Nodes of other disruptions that were decided before and may still be there. */
  readonly alongside: readonly string[];
  /** Nodes that are there and that pods go to. */
  readonly targets: readonly TargetNode[];
  /** The DisruptionPolicy that rules, and what of it makes this wait for a person. */
  readonly policy?: string;
  readonly approval?: ApprovalAsked;
  /** Whether other nodes are softly tainted while these are drained (STEER_PODS). */
  readonly steers?: boolean;
}

/** A pod that is evicted, `namespace/name`, and the node that it is meant for. */
export interface PodMove {
  readonly pod: string;
  readonly to: string;
}

/** A node that is there and that pods go to. */
export interface TargetNode {
  readonly node: string;
  readonly nodePool: string;
}

/** Nodes that were looked at as well, and why they were not taken. */
export interface Alternative {
  readonly nodes: string;
  readonly why: string;
}

/** Where a policy asks for a person's consent: how long to wait, and what counts as the answer when nobody gave one. */
export interface ApprovalAsked {
  readonly timeoutMs: number;
  readonly onTimeout: 'Approve' | 'Reject';
}

/** A decision for a person: what goes, what comes, what is saved. */
export interface DecisionSummary {
  readonly reason: DisruptionReason;
  readonly method: string;
  readonly nodes: readonly string[];
  readonly replacements: readonly string[];
  readonly pods: number;
  /** Dollars per hour. */
  readonly saves: number;
  /** Whether it is carried out, and if not why. */
  readonly then: string;
}
