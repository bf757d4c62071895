import { annotations } from '../../api/labels.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { digestOf } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { CachedByKey } from './cached.js';
import type { CatalogueInput } from './catalogue-input.js';
import type { Clock } from './clock.js';
import { buildCatalogue } from './instance-types.js';
import type { KnownCapacity } from './known-capacity.js';
import type { createMachineTypes, MachineReading } from './machine-types.js';
import type { Subnets } from './networks.js';
import { nodeExtras } from './node-extras.js';
import type { AwsOptions } from './options.js';
import type { PlacementGroups } from './placement-groups.js';
import type { Prices } from './prices.js';
import type { Reservations } from './reservations.js';
import type { ZonalShifts } from './zonal-shift.js';

const catalogueMs = 5 * 60_000;

interface CatalogueSources {
  readonly options: AwsOptions;
  readonly clock: Clock;
  /** Undefined if zonal shift is disabled. */
  readonly shifts: ZonalShifts | undefined;
  readonly machines: ReturnType<typeof createMachineTypes>;
  readonly prices: Prices;
  readonly unavailable: UnavailableOfferings;
  readonly capacity: KnownCapacity;
  readonly subnets: Subnets;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
}

/** The instance types of each node class, with their prices, zones and availability. */
export class Catalogues {
  private readonly built: CachedByKey<readonly InstanceType[]>;

  constructor(private readonly sources: CatalogueSources) {
    this.built = new CachedByKey(sources.clock, catalogueMs);
  }

  /**
   * Rebuilt when the node class, types, prices or availability change, and every five minutes
   * (instance-types/catalogue-age).
   */
  async of(given: EC2NodeClass): Promise<readonly InstanceType[]> {
    const { options, reservations } = this.sources;
    const nodeClass = options.reservedCapacity === false ? withoutReservations(given) : given;
    const current = await this.current(nodeClass);
    await reservations.refresh((nodeClass.status?.capacityReservations ?? []).map(({ id }) => id));
    const publicZones = await this.publicZones(nodeClass);
    const key = this.keyOf(nodeClass, current, publicZones);
    const build = (): readonly InstanceType[] => buildCatalogue(this.inputOf(nodeClass, current, publicZones));
    return this.built.get(key, () => Promise.resolve(build()));
  }

  private async current({ spec }: EC2NodeClass): Promise<Current> {
    const { machines, prices, shifts, placementGroups } = this.sources;
    const [types, table, shifted, placementGroup] = await Promise.all([
      machines.get(),
      prices.current(),
      shifts?.current(),
      placementGroups.find(spec.placementGroupSelector),
    ]);
    return {
      machines: types,
      prices: table,
      ...(shifted === undefined ? {} : { shifts: shifted }),
      ...(placementGroup === undefined ? {} : { placementGroup }),
    };
  }

  /** Zones whose subnets assign public addresses, if the node class does not decide it. */
  private async publicZones({ spec, status }: EC2NodeClass): Promise<ReadonlySet<string>> {
    if (spec.associatePublicIPAddress !== undefined) return new Set();
    return this.sources.subnets.publicZones(status?.subnets ?? []);
  }

  /** Cache key over all inputs of the catalogue. */
  private keyOf({ metadata, spec, status }: EC2NodeClass, current: Current, publicZones: ReadonlySet<string>): string {
    const { reservations, capacity, unavailable, subnets } = this.sources;
    const { amiFamily, amiSelectorTerms, kubelet, blockDeviceMappings, instanceStorePolicy } = spec;
    const { networkInterfaces, connectionTracking, cpuOptions, associatePublicIPAddress } = spec;
    const { machines, prices, shifts, placementGroup } = current;
    const content = [
      [metadata.uid, amiFamily, amiSelectorTerms, kubelet, blockDeviceMappings, instanceStorePolicy],
      [associatePublicIPAddress, [...publicZones]],
      [networkInterfaces, connectionTracking, cpuOptions, status?.subnets, status?.amis],
      [status?.capacityReservations, reservations.version],
      [capacity.version, metadata.annotations?.[annotations.ec2NodeClassHash]],
      [unavailable.version, subnets.version, prices.onDemandAt, prices.spotAt, shifts],
      [machines.digest, placementGroup],
    ];
    return digestOf(content);
  }

  private inputOf(nodeClass: EC2NodeClass, current: Current, publicZones: ReadonlySet<string>): CatalogueInput {
    const { options, reservations, capacity, unavailable, subnets } = this.sources;
    const hash = nodeClass.metadata.annotations?.[annotations.ec2NodeClassHash] ?? '';
    const { region, vmMemoryOverheadPercent = 0.075, reservedEnis = 0 } = options;
    return {
      ...current,
      unavailable,
      nodeClass,
      region,
      extras: nodeExtras(nodeClass.spec, region),
      publicZones,
      vmMemoryOverheadPercent,
      reservedEnis,
      subnetExhausted: (id) => subnets.isExhausted(id),
      knownCapacity: (instanceType, imageId, resource, promised) =>
        capacity.least({ instanceType, imageId, nodeClassHash: hash }, resource, promised),
      reservedCount: (id) => reservations.available(id),
    };
  }
}

/** The latest EC2 data: types, prices, shifted zones and the placement group. */
type Current = Pick<CatalogueInput, 'prices' | 'shifts' | 'placementGroup'> & { readonly machines: MachineReading };

/** With the feature gate off, launches ignore reservations, as packing does (reserved-capacity/gate-off). */
function withoutReservations(nodeClass: EC2NodeClass): EC2NodeClass {
  return { ...nodeClass, status: { ...nodeClass.status, capacityReservations: [] } };
}
