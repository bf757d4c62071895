import type { PackingInput, PlannedClaim } from '../../packing/types.js';

export interface ConsolidationInput extends PackingInput {
  /** Claim UIDs that a running disruption holds; absent means none. */
  readonly claimed?: ReadonlySet<string>;
  /** Names of nodes with pods on their way (section 2.10); absent means none. */
  readonly nominated?: ReadonlySet<string>;
  /** Whether spot nodes alone may be replaced by spot (section 4.7); off by default, as under Karpenter. */
  readonly spotToSpot?: boolean;
  /** Stop after so many commands; absent means until nothing is left to gain. */
  readonly mostCommands?: number;
}

export type Method = 'empty' | 'multi' | 'single';

/** One disruption: nodes to go, what to launch for them first, and where their pods will run. */
export interface ConsolidationCommand {
  readonly method: Method;
  readonly decision: 'delete' | 'replace';
  /** Names of the nodes to go, the best saving for its disruption first. */
  readonly candidates: readonly string[];
  readonly replacements: readonly PlannedClaim[];
  /** Every pod to be evicted (`namespace/name`) with its next node; `replacement-<n>-<i>` is the i-th of the n-th command. */
  readonly moves: readonly { readonly pod: string; readonly to: string }[];
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
}
