import type { Resources } from './quantities.js';
import type { WrittenRequirement } from '../api/karpenter/requirements.js';

/** References used in messages of every kind; workflows/messages.ts exports them. */

/** A reference to a NodeClaim: the name, and the UID to detect another object with this name. */
export interface ClaimRef {
  readonly name: string;
  readonly uid: string;
}

/** Namespace and name of an object. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** A reference to a Node, like `ClaimRef`. */
export interface NodeRef {
  readonly name: string;
  readonly uid: string;
}

/** A node whose pods get a new place before it is removed. */
export interface NodeUntil {
  readonly node: string;
  /** Milliseconds since the epoch: dropped afterwards. */
  readonly until: number;
  /** The request for replacements that added it; absent if its workflow launches them itself. */
  readonly request?: string;
}

/** A claim to create. Lists of instance types repeat, so a plan contains each list once and claims refer to it. */
export interface ClaimPlan {
  readonly nodePool: string;
  /** Index into `typeLists`. */
  readonly types: number;
  readonly requirements: readonly WrittenRequirement[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly requests: Resources;
  /** `namespace/name`, truncated if the plan would exceed the limit of a payload. */
  readonly pods: readonly string[];
  readonly podCount: number;
  /** Those to be nominated to the node; absent: none. */
  readonly nominated?: readonly string[];
  readonly cheapest: { instanceType: string; zone: string; capacityType: string; pricePerHour: number };
  readonly why: string;
}
