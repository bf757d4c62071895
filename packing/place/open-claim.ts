import type { Member } from './part.js';

/** A node to launch, in the engine's terms. */
export interface OpenClaim {
  /** The cheapest row that holds it. */
  readonly row: number;
  readonly members: readonly Member[];
  /** Topology keys that must not stay open. */
  readonly pinnedKeys: ReadonlySet<string>;
  /** Set where a spot ratio decided it. */
  readonly capacityType?: string;
}
