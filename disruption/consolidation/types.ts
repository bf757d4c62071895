import type { Decision, DisruptionMethod, PodMove } from '../command.js';
import type { ExcludedObject } from '../../packing/types.js';
import type { PackingInput, PlannedClaim } from '../../packing/types.js';
import type { BudgetReason } from '../../api/disruption-reasons.js';

export interface ConsolidationInput extends PackingInput {
  /** UIDs of NodeClaims that a running disruption will remove; absent: none. */
  readonly claimed?: ReadonlySet<string>;
  /** Names of nodes that pods are nominated to (provisioning/nominated-nodes); absent: none. */
  readonly nominated?: ReadonlySet<string>;
  /**
   * Whether commands with only spot nodes may launch spot (consolidation/spot-to-spot); off by default, as in
   * Karpenter.
   */
  readonly spotToSpot?: boolean;
  /** Names of NodeClaims launched for the decision that is validated: its pods may be moved there at once. */
  readonly launched?: ReadonlySet<string>;
  /**
   * Considers nodes that become consolidatable by this time (consolidation/consolidate-after), milliseconds of the
   * epoch; absent: now.
   */
  readonly consolidatableBy?: number;
  /** Stops after this number of commands; absent: no limit. */
  readonly mostCommands?: number;
  /**
   * The least saving of a command that launches more nodes than it removes, as a share of the average price of a node;
   * absent: none. kube-scheduler may place pods otherwise than planned, and then more nodes are launched: many small
   * nodes for small savings would be consolidated again.
   */
  readonly leastSplitShare?: number;
  /** Names of nodes that pods were moved to lately, which are not moved again for a small saving; absent: none. */
  readonly movedTo?: ReadonlySet<string>;
  /** The least saving of replacing nodes of `movedTo`, as a share of the average price of a node; absent: none. */
  readonly leastAgainShare?: number;
  /**
   * The value of moving every pod once, as a share of the fleet's price. Each move must save its part of that, and of
   * plans with about the same saving the one with fewer moves is chosen. Absent: nothing.
   */
  readonly disruptionWeight?: number;
  /** For validation: the most replacements, as in the decision; absent: no limit. */
  readonly mostReplacements?: number;
  /**
   * For validation: exactly these replacements with the same pods, as they can be launched now; absent: whatever is
   * best.
   */
  readonly decided?: readonly PlannedClaim[];
  /**
   * With `decided`: the nodes to which pods were to move, by name of the Node or NodeClaim; other pods are placed
   * freely.
   */
  readonly decidedMoves?: readonly PodMove[];
  /** Nodes that stay because of a pause or cool-down, by name, with the reason. */
  readonly kept?: ReadonlyMap<string, string>;
  /** The most nodes of a NodePool in one command, besides its budgets; absent: no limit. */
  readonly limits?: ReadonlyMap<string, Readonly<Partial<Record<BudgetReason, number>>>>;
  /** The least saving of commands with nodes of a NodePool. */
  readonly leastSavings?: ReadonlyMap<string, LeastSaving>;
}

export interface LeastSaving {
  /** A share of the candidates' price, 0 to 1. */
  readonly share: number;
  readonly dollarsPerHour: number;
}

/** A rejected command. */
export interface Rejection {
  readonly candidates: readonly string[];
  readonly why: string;
  /** Its best saving, dollars per hour. */
  readonly saving: number;
}

export type ConsolidationMethod = Exclude<DisruptionMethod, 'drift'>;

/** A command: nodes to remove, replacements to launch first, and where the pods move. */
export interface ConsolidationCommand extends Pick<Decision, 'decision'> {
  readonly method: ConsolidationMethod;
  /** Names of the nodes to remove, highest saving per disruption cost first. */
  readonly candidates: readonly string[];
  readonly replacements: readonly PlannedClaim[];
  /**
   * All evicted pods (`namespace/name`) with their next node; `replacement-<n>-<i>` is the i-th launch of the n-th
   * command.
   */
  readonly moves: readonly PodMove[];
  /** Price of the fleet, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
}

export interface Consolidation {
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Price of all nodes whose offering is in the catalogue, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** In the order in which they would run. */
  readonly commands: readonly ConsolidationCommand[];
  /** Why nodes may not be disrupted, by name, in words. */
  readonly held: readonly { readonly node: string; readonly why: string }[];
  /** Why candidates are not disrupted, by name, in words. Empty if the search was stopped early. */
  readonly notTaken: readonly { readonly node: string; readonly why: string }[];
  /** The best rejected commands, highest saving first. */
  readonly rejected: readonly Rejection[];
  /** Whether the search was stopped early, so that there may be more to save; absent if not. */
  readonly cutShort?: true;
  /** Objects that are excluded; absent if there are none. */
  readonly setAside?: readonly ExcludedObject[];
}
