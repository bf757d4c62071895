import type { Decision, DisruptionMethod, PodMove } from '../command.js';
import type { SetAside } from '../../packing/types.js';
import type { BudgetReason } from '../../api/karpenter/node-pool.js';
import type { PackingInput, PlannedClaim } from '../../packing/types.js';

export interface ConsolidationInput extends PackingInput {
  /** Claim UIDs that a running disruption holds; absent means none. */
  readonly claimed?: ReadonlySet<string>;
  /** Names of nodes with pods on their way (provisioning/nominated-nodes); absent means none. */
  readonly nominated?: ReadonlySet<string>;
  /** Whether spot nodes alone may be replaced by spot (consolidation/spot-to-spot); off by default, as under Karpenter. */
  readonly spotToSpot?: boolean;
  /** Names of NodeClaims that were launched for the decision that is looked at again: its pods may go there at once. */
  readonly launched?: ReadonlySet<string>;
  /** Nodes are looked at that are consolidatable by then (consolidation/consolidate-after), milliseconds of the epoch; absent means now. */
  readonly ripeBy?: number;
  /** Stop after so many commands; absent means until nothing is left to gain. */
  readonly mostCommands?: number;
  /**
   * What a replacement by more nodes than go must save at least, as a share of what a node of the fleet costs on average; absent
   * means nothing. Pods that are left over when kube-scheduler places them otherwise are launched for anew: many small nodes
   * come of small savings, and are consolidated again.
   */
  readonly leastSplitShare?: number;
  /** Names of nodes that pods were moved to lately: they do not move again for little; absent means none. */
  readonly movedTo?: ReadonlySet<string>;
  /** What replacing nodes of `movedTo` must save at least, as a share of what a node of the fleet costs on average; absent means nothing. */
  readonly leastAgainShare?: number;
  /**
   * What moving every pod of the fleet once is worth, as a share of what the fleet costs: whatever moves pods must save its part
   * of that, and of plans that save about the same the one that moves less is taken. Absent means nothing.
   */
  readonly disruptionWeight?: number;
  /** Looked at again, a decision may launch no more nodes than it was to; absent means as many as are cheapest. */
  readonly mostReplacements?: number;
  /** Looked at again, exactly these replacements: as they may be launched now, with the same pods; absent means whatever is best. */
  readonly decided?: readonly PlannedClaim[];
  /** Nodes that stay for a reason of their own (a pause, a cool-down), by name, with why. */
  readonly kept?: ReadonlyMap<string, string>;
  /** How many nodes of a NodePool one command may take, whatever its budgets say; absent means what these allow. */
  readonly limits?: ReadonlyMap<string, Readonly<Partial<Record<BudgetReason, number>>>>;
  /** What a command must save at least that takes nodes of a NodePool. */
  readonly leastSavings?: ReadonlyMap<string, LeastSaving>;
}

export interface LeastSaving {
  /** Of what the nodes cost, 0 to 1. */
  readonly share: number;
  readonly dollarsPerHour: number;
}

/** A command that was looked at and not taken. */
export interface Rejection {
  readonly candidates: readonly string[];
  readonly why: string;
  /** What it would have saved at best, dollars per hour. */
  readonly saving: number;
}

export type ConsolidationMethod = Exclude<DisruptionMethod, 'drift'>;

/** One disruption: nodes to go, what to launch for them first, and where their pods will run. */
export interface ConsolidationCommand {
  readonly method: ConsolidationMethod;
  readonly decision: Decision['decision'];
  /** Names of the nodes to go, the best saving for its disruption first. */
  readonly candidates: readonly string[];
  readonly replacements: readonly PlannedClaim[];
  /** Every pod to be evicted (`namespace/name`) with its next node; `replacement-<n>-<i>` is the i-th of the n-th command. */
  readonly moves: readonly PodMove[];
  /** Of the whole fleet, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
}

export interface Consolidation {
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Of all nodes whose type, zone and capacity type are in the catalogue, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** In the order in which they would run, each after the one before. */
  readonly commands: readonly ConsolidationCommand[];
  /** Why nodes may not go, by name, in a person's words. */
  readonly held: readonly { readonly node: string; readonly why: string }[];
  /** Why nodes that may go are not taken, by name, in a person's words: what that would come to. Empty where the search was cut short. */
  readonly notTaken: readonly { readonly node: string; readonly why: string }[];
  /** The best of what was not taken, the largest saving first. */
  readonly rejected: readonly Rejection[];
  /** The search was ended before its end: there may be more to gain; absent where it was not. */
  readonly cutShort?: true;
  /** Objects that the search could not work with and left alone; absent where there are none. */
  readonly setAside?: readonly SetAside[];
}
