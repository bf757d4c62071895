import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import type { Resources } from './quantities.js';

/*
 * What messages of every kind refer to; workflows/messages.ts gives it out.
 */

/** A NodeClaim: the name to find it, the UID to be sure that it is the same one. */
export interface ClaimRef {
  readonly name: string;
  readonly uid: string;
}

/** A Node, as `ClaimRef` names a claim. */
export interface NodeRef {
  readonly name: string;
  readonly uid: string;
}

/** A node whose pods get their new place before it goes. */
export interface NodeUntil {
  readonly node: string;
  /** Milliseconds of the epoch: forgotten afterwards. */
  readonly until: number;
  /** The request for replacements that it comes from; absent where its workflow launches them itself. */
  readonly request?: string;
}

/** A claim to create. Lists of instance types repeat, so a plan holds each list once and claims refer to it. */
export interface ClaimPlan {
  readonly nodePool: string;
  /** Index into `typeLists`. */
  readonly types: number;
  readonly requirements: readonly (NodeSelectorRequirement & { minValues?: number })[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly requests: Resources;
  /** `namespace/name`, cut off where the plan would grow too large for a payload. */
  readonly pods: readonly string[];
  readonly podCount: number;
  /** Those that are to be nominated to the node; absent: none. */
  readonly nominated?: readonly string[];
  readonly cheapest: { instanceType: string; zone: string; capacityType: string; pricePerHour: number };
  readonly why: string;
}
