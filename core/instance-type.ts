import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import type { Resources } from './quantities.js';

/** An instance type in one zone under one capacity type, with a price. */
export interface Offering {
  /** Labels of zone, zone id, capacity type, reservation and placement, each `In`. */
  readonly requirements: readonly NodeSelectorRequirement[];
  /** Dollars per hour. */
  readonly price: number;
  readonly available: boolean;
  /** Why the offering is unavailable, as text for people ("out of capacity"). */
  readonly unavailableReason?: string;
  /** Set if only a price is missing: a NodeOverlay can set one (node-overlays/price-for-the-unpriced). */
  readonly unpriced?: boolean;
  /** When an unavailable offering will be tried again, in milliseconds since the epoch. */
  readonly unavailableUntil?: number;
  /** For `karpenter.sh/capacity-type: reserved`: instances still free in the reservation. */
  readonly reservationCapacity?: number;
  /** The part of an on-demand price for the machine; absent if that is the whole price (instance-types/whole-price). */
  readonly machinePrice?: number;
  /**
   * Set if a Savings Plan or reserved instances cover it: use of the commitment and saving of each instance, dollars
   * per hour.
   */
  readonly commitment?: { readonly name: string; readonly use: number; readonly saving: number };
  /** Set if a NodeOverlay changed the price. */
  readonly priceOverlayApplied?: boolean;
}

/** One entry of a catalogue, as a cloud provider resolves it for a NodePool and its node class. */
export interface InstanceType {
  readonly name: string;
  /** The labels that a node of this type has, or may have, as requirements. */
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly offerings: readonly Offering[];
  /** Capacity of the machine. */
  readonly capacity: Resources;
  /** What kubelet, system and eviction thresholds reserve: allocatable = capacity − overhead. */
  readonly overhead: Resources;
  readonly capacityOverlayApplied?: boolean;
}
