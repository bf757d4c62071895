import type { Member } from './part.js';

/** A node to be launched, in terms of rows and classes. */
export interface OpenClaim {
  /** The cheapest row with room for its pods. */
  readonly row: number;
  readonly members: readonly Member[];
  /** Topology keys that need one fixed value on the node. */
  readonly pinnedKeys: ReadonlySet<string>;
  /** The capacity type, if a spot ratio decided it. */
  readonly capacityType?: string;
}
