import type { Pod } from '../../api/kubernetes.js';
import type { NodePlacement, Launch, NodeState, PodClass, PurchaseSearch } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { FleetNode } from './fleet.js';

/** How new nodes are bought for pods that no target takes. */
export interface Purchase {
  readonly search: PurchaseSearch;
  /** No search when the pods are worth more than this, dollars per hour: it could not end below. */
  readonly most: number;
  /** Whether nothing is bought where no pod finds room on a target: nodes for all of them were looked for before. */
  readonly onlyForRest?: boolean;
}

/** Where the pods of nodes that go would be. */
export interface Outcome {
  readonly candidates: readonly FleetNode[];
  /** Pods on nodes that are there. */
  readonly placements: readonly NodePlacement[];
  readonly launches: readonly Launch[];
  /** What of a fleet plan it carries out. */
  readonly route?: readonly Leg[];
}

/** An outcome that may be carried out, with what is launched for it. */
export interface Decided extends Outcome {
  readonly planned: readonly PlannedClaim[];
}

/** Pods of one class on their way to a node that is there, or to the n-th launch of the fleet plan. */
export interface Leg {
  readonly podClass: PodClass;
  readonly pods: readonly Pod[];
  readonly to: NodeState | number;
}
