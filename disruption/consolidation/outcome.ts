import type { Pod } from '../../api/kubernetes.js';
import type { NodePlacement, Launch, NodeState, PodClass, PurchaseSearch } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import { priceOfAll, type FleetNode } from './fleet.js';

/** How nodes are launched for pods without room on targets. */
export interface Purchase {
  readonly search: PurchaseSearch;
  /** No search if the lower bound for the pods is above this price, dollars per hour. */
  readonly most: number;
  /** Whether to skip the search if no pod has room on a target, because nodes for all of them were searched before. */
  readonly onlyForRest?: boolean;
}

/** Where the pods of the candidates would be. */
export interface Outcome {
  readonly candidates: readonly FleetNode[];
  /** Pods on existing nodes. */
  readonly placements: readonly NodePlacement[];
  readonly launches: readonly Launch[];
  /** The part of a fleet plan that it carries out. */
  readonly route?: readonly RouteStep[];
}

/** An outcome that is allowed, with its replacements. */
export interface DecidedOutcome extends Outcome {
  readonly planned: readonly PlannedClaim[];
}

/** The price of the replacements, dollars per hour. */
export const priceOfPlanned = ({ planned }: Pick<DecidedOutcome, 'planned'>): number =>
  planned.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);

/** By how much the outcome makes the fleet cheaper, dollars per hour. */
export const outcomeSaving = ({ candidates, planned }: DecidedOutcome): number =>
  priceOfAll(candidates) - priceOfPlanned({ planned });

/** Pods of one class that move to an existing node, or to the n-th launch of the fleet plan. */
export interface RouteStep {
  readonly podClass: PodClass;
  readonly pods: readonly Pod[];
  readonly to: NodeState | number;
}
