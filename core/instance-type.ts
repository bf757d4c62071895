import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import type { Resources } from './quantities.js';

/** What can be bought: an instance type in one zone under one capacity type. */
export interface Offering {
  /** Zone, zone id, capacity type, reservation and placement labels, each `In`. */
  readonly requirements: readonly NodeSelectorRequirement[];
  /** Dollars per hour. */
  readonly price: number;
  readonly available: boolean;
  /** Why an unavailable offering is so, in a person's words ("out of capacity"). */
  readonly unavailableReason?: string;
  /** Set where only a price is missing: a NodeOverlay can give one (node-overlays/price-for-the-unpriced). */
  readonly unpriced?: boolean;
  /** When an unavailable offering will be tried again, in milliseconds of the epoch. */
  readonly unavailableUntil?: number;
  /** For `karpenter.sh/capacity-type: reserved`: instances still free in the reservation. */
  readonly reservationCapacity?: number;
  /** What of an on-demand price is for the machine alone; absent where all of it is (instance-types/whole-price). */
  readonly machinePrice?: number;
  /** Set where a Savings Plan or reserved instances cover it: what each instance uses of that, and saves, dollars per hour. */
  readonly commitment?: { readonly name: string; readonly use: number; readonly saving: number };
  /** Set when a NodeOverlay decided the price. */
  readonly priceOverlayApplied?: boolean;
}

/** One entry of a catalogue, as a cloud provider resolves it for a NodePool and its node class. */
export interface InstanceType {
  readonly name: string;
  /** The labels that a node of this type has, or may have, as requirements. */
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly offerings: readonly Offering[];
  /** What the machine has. */
  readonly capacity: Resources;
  /** What kubelet, system and eviction thresholds keep back: allocatable = capacity − overhead. */
  readonly overhead: Resources;
  readonly capacityOverlayApplied?: boolean;
}
