import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { ResolvedAmi, ResolvedSubnet } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { intersects } from '../../core/launch-options.js';
import { SharedRequirements } from '../../core/shared-requirements.js';
import { isDomainError } from '../../core/failures.js';
import type { CatalogueInput } from './catalogue-input.js';
import { kubeletOf, machineResources } from './capacity.js';
import { families } from './families.js';
import { architectureOf, instanceLabels, labelRequirements } from './instance-labels.js';
import type { MachineTypes } from './machine-types.js';
import type { NetworkInterface } from '../../api/aws/network-interfaces.js';
import { lookUp } from '../../core/own.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { type PlacementGroup, placementKey } from './placement-groups.js';
import { type ShiftedZone, shiftOf } from './zonal-shift.js';

interface Zone {
  readonly zoneId: string | undefined;
  readonly exhausted: boolean;
  readonly shift: ShiftedZone | undefined;
}

/** The common part of offerings of many types. */
interface Place {
  readonly zone: string;
  readonly capacityType: (typeof unreservedCapacityTypes)[number];
  /** Key of the placement group. */
  readonly placement: string | undefined;
  readonly requirements: readonly NodeSelectorRequirement[];
}

const unreservedCapacityTypes = ['on-demand', 'spot'] as const;

const reservationKeys = [
  awsLabels.capacityReservationId,
  awsLabels.capacityReservationType,
  awsLabels.capacityReservationInterruptible,
] as const;

const placementKeys = [awsLabels.placementGroupId, awsLabels.placementGroupPartition] as const;

/** Keys of offerings for which the type has the union of the values. */
const unionKeys = [labels.zone, labels.zoneId, labels.capacityType, ...reservationKeys, ...placementKeys];

/** Reserved capacity is paid for already: its price only orders reservations (reserved-capacity/price). */
const reservedPriceShare = 1 / 10_000_000;

/** Makes the offerings of every type of a catalogue (instance-types/offerings). */
class OfferingBuilder {
  private readonly zones: ReadonlyMap<string, Zone>;
  private readonly outsideReservations: readonly Place[];
  private readonly besideReservations: readonly Place[];

  constructor(
    private readonly input: CatalogueInput,
    private readonly shared: SharedRequirements,
  ) {
    this.zones = zonesOf(input.nodeClass.status?.subnets ?? [], input);
    this.outsideReservations = this.places({});
    // If other offerings of a type are in a reservation, these state that they are in none.
    this.besideReservations = this.places(Object.fromEntries(reservationKeys.map((key) => [key, undefined])));
  }

  of(info: InstanceTypeInfo): Offering[] {
    return [...this.bought(info), ...this.reserved(info.InstanceType ?? '')];
  }

  /** The type's requirements for keys of its offerings. */
  unionOf(offerings: readonly Offering[]): readonly NodeSelectorRequirement[] {
    return unionKeys.map((key) => union(offerings, key));
  }

  private places(more: Readonly<Record<string, undefined>>): Place[] {
    const groups = placementsOf(this.input.placementGroup);
    return [...this.zones].flatMap(([zone, { zoneId }]) =>
      unreservedCapacityTypes.flatMap((capacityType) => {
        const where = labelRequirements({
          [labels.capacityType]: capacityType,
          [labels.zone]: zone,
          ...(zoneId === undefined ? {} : { [labels.zoneId]: zoneId }),
          ...more,
        });
        return groups.map(({ requirements, key }) => ({
          zone,
          capacityType,
          placement: key,
          requirements: this.shared.list([...where, ...requirements]),
        }));
      }),
    );
  }

  private bought(info: InstanceTypeInfo): Offering[] {
    const name = info.InstanceType ?? '';
    const { prices, machines, unavailable } = this.input;
    const offered = machines.zones.get(name);
    const usage: readonly string[] = info.SupportedUsageClasses ?? [];
    const offerings: Offering[] = [];
    for (const { zone, capacityType, placement, requirements } of this.placesOf(name)) {
      if (offered?.has(zone) !== true || !usage.includes(capacityType)) continue;
      const price = capacityType === 'spot' ? lookUp(lookUp(prices.spot, name), zone) : lookUp(prices.onDemand, name);
      offerings.push({
        requirements,
        price: (price ?? 0) + this.extraPrice(zone),
        ...(capacityType === 'on-demand' && price !== undefined ? { machinePrice: price } : {}),
        ...availability(price, this.zones.get(zone)!, unavailable.get(capacityType, name, zone, placement)),
      });
    }
    return offerings;
  }

  private placesOf(type: string): readonly Place[] {
    const reservations = this.input.nodeClass.status?.capacityReservations ?? [];
    const isReserved = reservations.some(({ instanceType }) => instanceType === type);
    return isReserved ? this.besideReservations : this.outsideReservations;
  }

  private reserved(type: string): Offering[] {
    const { nodeClass, placementGroup, prices, reservedCount } = this.input;
    const own = (nodeClass.status?.capacityReservations ?? []).filter(
      (reservation) => reservation.instanceType === type && this.zones.has(reservation.availabilityZone),
    );
    return own.map((reservation) => {
      const { id, availabilityZone, reservationType, interruptible, state } = reservation;
      const zone = this.zones.get(availabilityZone);
      const count = reservedCount?.(id) ?? 0;
      const machine = (lookUp(prices.onDemand, type) ?? 0) * reservedPriceShare;
      const requirements = labelRequirements({
        ...(placementGroup === undefined ? {} : { [awsLabels.placementGroupId]: placementGroup.id }),
        [labels.capacityType]: 'reserved',
        [labels.zone]: availabilityZone,
        ...(zone?.zoneId === undefined ? {} : { [labels.zoneId]: zone.zoneId }),
        [awsLabels.capacityReservationId]: id,
        [awsLabels.capacityReservationType]: reservationType,
        [awsLabels.capacityReservationInterruptible]: String(interruptible === true),
      });
      const usable = count > 0 && state === 'active' && zone?.exhausted !== true && zone?.shift === undefined;
      return {
        requirements,
        price: machine + this.extraPrice(availabilityZone),
        available: usable,
        reservationCapacity: count,
        ...(usable
          ? {}
          : { unavailableReason: state === 'active' ? 'the reservation is used up' : 'the reservation ends soon' }),
      };
    });
  }

  /** Price of volumes and the public address of a node in a zone, dollars per hour (instance-types/whole-price). */
  private extraPrice(zone: string): number {
    const { extras, publicZones, nodeClass } = this.input;
    if (extras === undefined) return 0;
    const isPublic = nodeClass.spec.associatePublicIPAddress ?? publicZones?.has(zone) ?? false;
    return extras.volumes + (isPublic ? extras.publicAddress : 0);
  }
}

function zonesOf(
  subnets: readonly ResolvedSubnet[],
  { subnetExhausted: exhausted = () => false, shifts = [] }: CatalogueInput,
): ReadonlyMap<string, Zone> {
  const zones = new Map<string, Zone>();
  for (const subnet of subnets) {
    const others = zones.get(subnet.zone)?.exhausted ?? true;
    zones.set(subnet.zone, {
      zoneId: subnet.zoneID,
      exhausted: others && exhausted(subnet.id),
      shift: shiftOf(shifts, subnet.zone, subnet.zoneID),
    });
  }
  return zones;
}

/** Each partition is a separate offering, so that pods can be spread over partitions (instance-types/partitions). */
function placementsOf(
  group: PlacementGroup | undefined,
): readonly { readonly requirements: NodeSelectorRequirement[]; readonly key?: string }[] {
  if (group === undefined) return [{ requirements: [] }];
  const inGroup = (partition?: string): { requirements: NodeSelectorRequirement[]; key: string } => ({
    requirements: labelRequirements({
      [awsLabels.placementGroupId]: group.id,
      ...(partition === undefined ? {} : { [awsLabels.placementGroupPartition]: partition }),
    }),
    key: placementKey(group.id, partition) ?? '',
  });
  if (group.partitions === 0) return [inGroup()];
  return Array.from({ length: group.partitions }, (_, i) => inGroup(String(i + 1)));
}

function availability(
  price: number | undefined,
  { exhausted, shift }: Zone,
  refused: ReturnType<UnavailableOfferings['get']>,
): Pick<Offering, 'available' | 'unavailableReason' | 'unavailableUntil' | 'unpriced'> {
  if (shift !== undefined) {
    return {
      available: false,
      unavailableReason: 'a zonal shift leads away from the zone',
      unavailableUntil: shift.until,
    };
  }
  if (exhausted) return { available: false, unavailableReason: 'no subnet of the zone has free addresses' };
  if (refused !== undefined) {
    return { available: false, unavailableReason: refused.reason, unavailableUntil: refused.until };
  }
  if (price === undefined) return { available: false, unavailableReason: 'no current price is known', unpriced: true };
  return { available: true };
}

function union(offerings: readonly Offering[], key: string): NodeSelectorRequirement {
  const values = new Set<string>();
  for (const { requirements } of offerings)
    for (const value of requirements.find((each) => each.key === key)?.values ?? []) values.add(value);
  return values.size === 0 ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values: [...values].sort() };
}

/**
 * The instance types that a node class can launch, with capacity, overhead, labels and offerings
 * (instance-types/offerings): the zones of its subnets for spot and on-demand. Types that none of its images fits are
 * left out.
 */
export function buildCatalogue(input: CatalogueInput): InstanceType[] {
  const family = resolvedAmiFamily(input.nodeClass.spec);
  const kept = keptOf(input.machines);
  const builder = new OfferingBuilder(input, kept.shared);
  const types: InstanceType[] = [];
  for (const info of input.machines.infos) {
    const type = buildType(info, input, builder, kept);
    if (type !== undefined && !(family === 'AL2023' && type.name.startsWith('a1.'))) types.push(kept.shared.in(type));
  }
  return types;
}

/**
 * Cached data shared by all catalogues built from one reading of EC2's types: a new catalogue is built at each change
 * of prices and availability.
 */
interface Kept {
  readonly shared: SharedRequirements;
  /** Labels of each type. */
  readonly labels: WeakMap<InstanceTypeInfo, readonly NodeSelectorRequirement[]>;
}

const keptByReading = new WeakMap<MachineTypes, Kept>();

function keptOf(machines: MachineTypes): Kept {
  const known = keptByReading.get(machines);
  if (known !== undefined) return known;
  const kept: Kept = { shared: new SharedRequirements(), labels: new WeakMap() };
  keptByReading.set(machines, kept);
  return kept;
}

function ownLabels(info: InstanceTypeInfo, { shared, labels: byType }: Kept): readonly NodeSelectorRequirement[] {
  const known = byType.get(info);
  if (known !== undefined) return known;
  const own = shared.list(labelRequirements(instanceLabels(info)));
  byType.set(info, own);
  return own;
}

/** The first image of the node class, newest first, that fits a type (launch-templates/image-of-a-type). */
export function imageFor(
  amis: readonly ResolvedAmi[],
  requirements: readonly NodeSelectorRequirement[],
): ResolvedAmi | undefined {
  return amis.find((ami) => intersects(ami.requirements, requirements));
}

function buildType(
  info: InstanceTypeInfo,
  input: CatalogueInput,
  builder: OfferingBuilder,
  kept: Kept,
): InstanceType | undefined {
  const { spec, status } = input.nodeClass;
  const name = info.InstanceType;
  const architecture = architectureOf(info);
  if (name === undefined || architecture === undefined || !supports(info, input)) return undefined;
  const family = resolvedAmiFamily(spec);
  const { os, windowsBuild } = families[family];
  const own = [
    ...ownLabels(info, kept),
    ...labelRequirements({
      [labels.arch]: architecture,
      [labels.os]: os,
      [labels.region]: input.region,
      [labels.windowsBuild]: windowsBuild,
    }),
  ];
  const ami = imageFor(status?.amis ?? [], own);
  if (ami === undefined) return undefined;
  const offerings = builder.of(info);
  const { knownCapacity } = input;
  const { vmMemoryOverheadPercent, reservedEnis } = input;
  const kubelet = kubeletFor(info, input);
  if (kubelet === undefined) return undefined;
  return {
    name,
    requirements: [
      ...own,
      { key: awsLabels.instanceTenancy, operator: 'In', values: ['default', 'dedicated'] },
      ...builder.unionOf(offerings),
    ],
    offerings,
    ...machineResources(info, {
      family,
      spec: { ...spec, kubelet },
      vmMemoryOverheadPercent,
      reservedEnis,
      ...(knownCapacity && { knownCapacity: (resource, promised) => knownCapacity(name, ami.id, resource, promised) }),
    }),
  };
}

/** The kubelet settings of a type; undefined if their expressions fail, which the node class's condition reports. */
function kubeletFor(
  info: InstanceTypeInfo,
  { nodeClass: { spec }, reservedEnis }: CatalogueInput,
): Readonly<Record<string, unknown>> | undefined {
  try {
    return kubeletOf(info, { family: resolvedAmiFamily(spec), spec, reservedEnis });
  } catch (error) {
    if (isDomainError(error, 'Invalid')) return undefined;
    throw error;
  }
}

/**
 * Whether a type supports what the node class requires: connection tracking needs Nitro, nested virtualization needs
 * support by the type.
 */
function supports(info: InstanceTypeInfo, { nodeClass: { spec }, placementGroup }: CatalogueInput): boolean {
  const strategies: readonly string[] | undefined = info.PlacementGroupInfo?.SupportedStrategies;
  if (placementGroup !== undefined && strategies?.includes(placementGroup.strategy) === false) return false;
  if (spec.connectionTracking !== undefined && info.Hypervisor !== 'nitro') return false;
  const features: readonly string[] = info.ProcessorInfo?.SupportedFeatures ?? [];
  if (spec.cpuOptions?.nestedVirtualization === 'enabled' && !features.includes('nested-virtualization')) return false;
  return fitsInterfaces(info, spec.networkInterfaces);
}

/** Whether a type has room for the interfaces that a node class lists: ENA, network cards, devices and EFA. */
export function fitsInterfaces(
  { NetworkInfo: network }: InstanceTypeInfo,
  interfaces: readonly NetworkInterface[] | undefined,
): boolean {
  if (interfaces === undefined || interfaces.length === 0) return true;
  if (network === undefined || network.EnaSupport === 'unsupported') return false;
  const placesOf = new Map(
    network.NetworkCards?.map((card) => [card.NetworkCardIndex ?? 0, card.MaximumNetworkInterfaces ?? 0]),
  );
  const efaOnly = interfaces.filter(({ interfaceType }) => interfaceType === 'efa-only').length;
  return (
    interfaces.every(
      ({ networkCardIndex, deviceIndex }) => deviceIndex < (placesOf.get(networkCardIndex) ?? Number.NEGATIVE_INFINITY),
    ) && efaOnly <= (network.EfaInfo?.MaximumEfaInterfaces ?? 0)
  );
}
