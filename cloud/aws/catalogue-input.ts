import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import type { MachineTypes } from './machine-types.js';
import type { NodeExtras } from './node-extras.js';
import type { PlacementGroup } from './placement-groups.js';
import type { PriceTable } from './prices.js';
import type { ShiftedZone } from './zonal-shift.js';

/** The inputs of a node class's catalogue. */
export interface CatalogueInput {
  readonly machines: MachineTypes;
  readonly prices: PriceTable;
  readonly unavailable: UnavailableOfferings;
  readonly nodeClass: EC2NodeClass;
  readonly region: string;
  readonly vmMemoryOverheadPercent: number;
  readonly reservedEnis: number;
  /** Observed capacity of a resource of a type and image, at most the expected one. */
  readonly knownCapacity?: (type: string, amiId: string, resource: string, promised: number) => number;
  /** Whether a subnet currently has no free addresses. */
  readonly subnetExhausted?: (id: string) => boolean;
  /** The placement group for launches. */
  readonly placementGroup?: PlacementGroup;
  /** Zones that traffic is shifted away from. */
  readonly shifts?: readonly ShiftedZone[];
  /**
   * Cost of a node in addition to its machine. `publicZones` are zones whose subnets assign public addresses by
   * default.
   */
  readonly extras?: NodeExtras;
  readonly publicZones?: ReadonlySet<string>;
  /** Free instances of a capacity reservation. */
  readonly reservedCount?: (reservationId: string) => number;
}
