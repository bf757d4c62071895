import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { OpenClaim } from '../../packing/output/claims.js';
import type { NodeState } from '../../packing/place/node-states.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { FleetNode } from './fleet.js';
import type { Landing } from './journal.js';

/** How new nodes are bought for pods that no target takes. */
export interface Purchase {
  /** Units of search. */
  readonly units: number;
  /** No search when the pods are worth more than this, dollars per hour: it could not end below. */
  readonly most: number;
}

/** Where the pods of nodes that go would be. */
export interface Outcome {
  readonly candidates: readonly FleetNode[];
  /** Pods on nodes that are there. */
  readonly landings: readonly Landing[];
  /** Nodes to launch, as the engine sees them and as a NodeClaim lists them. */
  readonly launches: readonly Launch[];
  /** What of a blueprint it carries out. */
  readonly route?: readonly Leg[];
}

export interface Launch {
  readonly claim: OpenClaim;
  readonly planned: PlannedClaim;
  /** Whether topology counts have its pods already, as far as pinned keys decide their domain. */
  readonly counted: boolean;
}

/** Pods of one class on their way to a node that is there, or to the n-th launch of the blueprint. */
export interface Leg {
  readonly podClass: PodClass;
  readonly pods: readonly Pod[];
  readonly to: NodeState | number;
}
