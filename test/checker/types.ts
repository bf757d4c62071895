import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/** What `stowage plan -o json` prints, as far as a judge needs it; Karpenter's plans come in the same form. */
export interface PlanJson {
  readonly engine: string;
  readonly newNodeClaims: readonly ClaimJson[];
  readonly existingNodes: readonly { readonly node: string; readonly pods: readonly string[] }[];
  readonly unschedulable: readonly { readonly pod: string; readonly reason: string }[];
  /** Pods that ask for a node outside of NodePools. */
  readonly ignored?: readonly string[];
  readonly pricePerHour: number;
  readonly solveMs?: number | readonly number[];
  /** What the engine itself says no plan can beat; checked to be no more than its own price. */
  readonly lowerBoundPerHour?: number;
  /** The same of plans that keep the same preferences on at most as many new nodes. */
  readonly comparableLowerBoundPerHour?: number;
}

export interface ClaimJson {
  readonly nodePool: string;
  readonly pods: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly cheapest?: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly pricePerHour: number;
    /** The Savings Plan or reserved instances that cover it. */
    readonly commitment?: string;
  } | null;
  readonly requirements?: readonly WrittenRequirement[] | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
}

/** One command of a consolidation. */
export interface CommandJson {
  readonly method: string;
  readonly decision: string;
  readonly candidates: readonly string[];
  readonly replacements: readonly ClaimJson[];
  readonly moves: readonly { readonly pod: string; readonly to: string }[];
  readonly priceBefore: number;
  readonly priceAfter: number;
}

/** The rules that a plan can break, each with one meaning. */
export type Rule =
  | 'unknown-pod' // the plan names a pod that is not there or does not pend
  | 'duplicate-pod' // a pod is placed twice
  | 'missing-pod' // a pending pod is neither placed nor reported
  | 'unknown-node'
  | 'unknown-pool'
  | 'unknown-type'
  | 'no-offering' // nothing in the catalogue can be launched for the claim
  | 'over-full' // the cheapest type, or an existing node, cannot hold its pods and daemons
  | 'listed-type' // another type that the claim lists cannot be launched for these pods
  | 'requirements' // node selector or required node affinity
  | 'pool-requirements' // the claim leaves its NodePool's requirements
  | 'taints'
  | 'host-ports'
  | 'pod-affinity'
  | 'pod-anti-affinity'
  | 'topology-spread'
  | 'volumes'
  | 'limits'
  | 'min-values'
  | 'reservations' // more nodes on a capacity reservation than it has free
  | 'commitments' // more of a Savings Plan or of reserved instances than is left
  | 'spot-ratio' // a pool with a ratio is further from it than a node's vCPUs, or a claim may become either
  | 'weight' // no pod of a launched node needs its NodePool: those with a higher weight can hold each
  | 'price'
  | 'lower-bound'
  | 'candidate' // consolidation: the node is not there, or may not be disrupted
  | 'disruption-budget'
  | 'moves'; // a pod of a node that goes is moved not at all, twice, or nowhere

export interface Violation {
  readonly rule: Rule;
  /** A node's name, or `claim-<index>` for a new one. */
  readonly node?: string;
  readonly pod?: string;
  readonly message: string;
}

/** An entry of a catalogue in the JSON form of Karpenter's KWOK provider. */
export interface CatalogueEntry {
  readonly name: string;
  readonly architecture: string;
  readonly operatingSystems: readonly string[];
  readonly resources: Readonly<Record<string, string>>;
  /** Labels of the type besides those of its name, architecture and operating systems, such as `karpenter.k8s.aws/instance-family`. */
  readonly labels?: Readonly<Record<string, string | readonly string[]>>;
  readonly offerings: readonly {
    readonly Price: number;
    readonly Available?: boolean;
    /** Of a reserved offering: instances that are free. */
    readonly ReservationCapacity?: number;
    readonly Requirements: readonly WrittenRequirement[];
  }[];
}

/** A v1 List, as `kubectl get -o json` writes it. */
export interface ObjectList {
  readonly items: readonly unknown[];
}

/** A Savings Plan or reserved instances, as a file of commitments has them. */
export interface CommitmentJson {
  readonly name: string;
  readonly kind: string;
  readonly perHour?: number;
  readonly discount?: number;
  readonly familyDiscounts?: Readonly<Record<string, number>>;
  readonly instanceFamily?: string;
  readonly instanceType?: string;
  readonly count?: number;
  readonly zone?: string;
  readonly sizeFlexible?: boolean;
  readonly usedElsewhere?: number;
}
