import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import type { MachineTypes } from './machine-types.js';
import type { NodeExtras } from './node-extras.js';
import type { PlacementGroup } from './placement-groups.js';
import type { PriceTable } from './prices.js';
import type { ShiftedZone } from './zonal-shift.js';

/** All that the catalogue of a node class is made of. */
export interface CatalogueInput {
  readonly machines: MachineTypes;
  readonly prices: PriceTable;
  readonly unavailable: UnavailableOfferings;
  readonly nodeClass: EC2NodeClass;
  readonly region: string;
  readonly vmMemoryOverheadPercent: number;
  readonly reservedEnis: number;
  /** Bytes that nodes of a type and image were seen to have. */
  readonly knownMemory?: (type: string, amiId: string) => number | undefined;
  /** What nodes of a type and image were seen to have of another resource, at most what is promised. */
  readonly knownCapacity?: (type: string, amiId: string, resource: string, promised: number) => number;
  /** Whether a subnet has run out of addresses for now. */
  readonly subnetExhausted?: (id: string) => boolean;
  /** The group that instances are launched into. */
  readonly placementGroup?: PlacementGroup;
  /** Zones that traffic is shifted away from. */
  readonly shifts?: readonly ShiftedZone[];
  /** What every node costs besides its machine; `publicZones` are those whose subnets give public addresses by themselves. */
  readonly extras?: NodeExtras;
  readonly publicZones?: ReadonlySet<string>;
  /** Instances that a capacity reservation still has room for. */
  readonly reservedCount?: (reservationId: string) => number;
}
