import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass, ResolvedAmi, ResolvedSubnet } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { intersects } from '../../core/launch-options.js';
import { SharedRequirements } from '../../core/shared-requirements.js';
import { isDomainError } from '../../core/failures.js';
import { eniPods, machineResources } from './capacity.js';
import { families } from './families.js';
import { architectureOf, instanceLabels, labelRequirements } from './instance-labels.js';
import { resolvedKubelet } from './kubelet-expressions.js';
import type { MachineTypes } from './machine-types.js';
import { fitsInterfaces } from './node-interfaces.js';
import type { NodeExtras } from './node-extras.js';
import { placementKey } from './placement-groups.js';
import type { PlacementGroup } from './placement-groups.js';
import type { PriceTable } from './prices.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { shiftOf } from './zonal-shift.js';
import type { ShiftedZone } from './zonal-shift.js';
import { lookUp } from '../../core/own.js';

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

/**
 * The instance types that a node class can launch, with capacity, overhead, labels and offerings (instance-types/offerings): zones
 * of its subnets by spot and on-demand; types that no image of it fits are left out.
 */
export function buildCatalogue(input: CatalogueInput): InstanceType[] {
  const { spec, status } = input.nodeClass;
  const family = resolvedAmiFamily(spec);
  const zones = zonesOf(status?.subnets ?? [], input);
  const shared = new SharedRequirements();
  const types: InstanceType[] = [];
  for (const info of input.machines.infos) {
    const type = buildType(info, input, zones);
    if (type !== undefined && !(family === 'AL2023' && type.name.startsWith('a1.'))) types.push(shared.in(type));
  }
  return types;
}

/** The first image of the node class, newest first, that fits a type (launch-templates/image-of-a-type). */
export function imageFor(
  amis: readonly ResolvedAmi[],
  requirements: readonly NodeSelectorRequirement[],
): ResolvedAmi | undefined {
  return amis.find((ami) => intersects(ami.requirements, requirements));
}

interface Zone {
  readonly zoneId: string | undefined;
  readonly exhausted: boolean;
  readonly shift: ShiftedZone | undefined;
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

function buildType(
  info: InstanceTypeInfo,
  input: CatalogueInput,
  zones: ReadonlyMap<string, Zone>,
): InstanceType | undefined {
  const { spec, status } = input.nodeClass;
  const name = info.InstanceType;
  const architecture = architectureOf(info);
  if (name === undefined || architecture === undefined || !supports(info, input)) return undefined;
  const family = resolvedAmiFamily(spec);
  const { os, windowsBuild } = families[family];
  const own = labelRequirements({
    ...instanceLabels(info),
    [labels.arch]: architecture,
    [labels.os]: os,
    [labels.region]: input.region,
    [labels.windowsBuild]: windowsBuild,
  });
  const ami = imageFor(status?.amis ?? [], own);
  if (ami === undefined) return undefined;
  const offerings = [...buildOfferings(info, input, zones), ...reservedOfferings(name, input, zones)];
  const knownMemory = input.knownMemory?.(name, ami.id);
  const { vmMemoryOverheadPercent, reservedEnis } = input;
  const kubelet = kubeletFor(info, input);
  if (kubelet === undefined) return undefined;
  return {
    name,
    requirements: [
      ...own,
      { key: awsLabels.instanceTenancy, operator: 'In', values: ['default', 'dedicated'] },
      union(offerings, labels.zone),
      union(offerings, labels.zoneId),
      union(offerings, labels.capacityType),
      ...reservationKeys.map((key) => union(offerings, key)),
      ...placementKeys.map((key) => union(offerings, key)),
    ],
    offerings,
    ...machineResources(info, {
      family,
      spec: { ...spec, kubelet },
      vmMemoryOverheadPercent,
      reservedEnis,
      ...(knownMemory === undefined ? {} : { knownMemory }),
    }),
  };
}

/** The kubelet settings of a type; undefined where their expressions do not work out, which the node class tells. */
function kubeletFor(
  info: InstanceTypeInfo,
  { nodeClass: { spec }, reservedEnis }: CatalogueInput,
): Readonly<Record<string, unknown>> | undefined {
  try {
    return resolvedKubelet(spec.kubelet, info, eniPods(info, reservedEnis));
  } catch (error) {
    if (isDomainError(error, 'Invalid')) return undefined;
    throw error;
  }
}

/** Whether a type can do what the node class demands of it: connection tracking needs Nitro, nested virtualization support. */
function supports(info: InstanceTypeInfo, { nodeClass: { spec }, placementGroup }: CatalogueInput): boolean {
  const strategies: readonly string[] | undefined = info.PlacementGroupInfo?.SupportedStrategies;
  if (placementGroup !== undefined && strategies?.includes(placementGroup.strategy) === false) return false;
  if (spec.connectionTracking !== undefined && info.Hypervisor !== 'nitro') return false;
  const features: readonly string[] = info.ProcessorInfo?.SupportedFeatures ?? [];
  if (spec.cpuOptions?.nestedVirtualization === 'enabled' && !features.includes('nested-virtualization')) return false;
  return fitsInterfaces(info, spec.networkInterfaces);
}

const capacityTypes = ['on-demand', 'spot'] as const;

function buildOfferings(info: InstanceTypeInfo, input: CatalogueInput, zones: ReadonlyMap<string, Zone>): Offering[] {
  const name = info.InstanceType ?? '';
  const offered = input.machines.zones.get(name);
  const usage: readonly string[] = info.SupportedUsageClasses ?? [];
  const bought = capacityTypes.filter((capacityType) => usage.includes(capacityType));
  const unreserved = outsideReservations(name, input);
  const placements = placementsOf(input.placementGroup);
  const offerings: Offering[] = [];
  for (const [zone, place] of zones) {
    const { zoneId } = place;
    if (offered?.has(zone) !== true) continue;
    for (const capacityType of bought) {
      const price = capacityType === 'spot' ? lookUp(input.prices.spot[name], zone) : input.prices.onDemand[name];
      const refused = (key?: string): ReturnType<UnavailableOfferings['get']> =>
        input.unavailable.get(capacityType, name, zone, key);
      const where = labelRequirements({
        [labels.capacityType]: capacityType,
        [labels.zone]: zone,
        ...(zoneId === undefined ? {} : { [labels.zoneId]: zoneId }),
        ...unreserved,
      });
      for (const { requirements, key } of placements) {
        offerings.push({
          requirements: [...where, ...requirements],
          price: (price ?? 0) + extraPrice(zone, input),
          ...(capacityType === 'on-demand' && price !== undefined ? { machinePrice: price } : {}),
          ...availability(price, place, refused(key)),
        });
      }
    }
  }
  return offerings;
}

/** Where other offerings of a type are in a reservation, these say that they are in none. */
function outsideReservations(type: string, { nodeClass }: CatalogueInput): Record<string, undefined> {
  const reserved = nodeClass.status?.capacityReservations?.some(({ instanceType }) => instanceType === type);
  return reserved === true ? Object.fromEntries(reservationKeys.map((key) => [key, undefined])) : {};
}

const placementKeys = [awsLabels.placementGroupId, awsLabels.placementGroupPartition] as const;

/** A partition is an offering of its own, so that pods can be spread over partitions (instance-types/partitions). */
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

/** Volumes and the public address of a node in a zone, dollars per hour (instance-types/whole-price). */
function extraPrice(zone: string, { extras, publicZones, nodeClass }: CatalogueInput): number {
  if (extras === undefined) return 0;
  const isPublic = nodeClass.spec.associatePublicIPAddress ?? publicZones?.has(zone) ?? false;
  return extras.volumes + (isPublic ? extras.publicAddress : 0);
}

const reservationKeys = [
  awsLabels.capacityReservationId,
  awsLabels.capacityReservationType,
  awsLabels.capacityReservationInterruptible,
] as const;

/** Reserved capacity is paid for already: its price only keeps the order among reservations (reserved-capacity/price). */
const reservedPriceShare = 1 / 10_000_000;

function reservedOfferings(type: string, input: CatalogueInput, zones: ReadonlyMap<string, Zone>): Offering[] {
  const own = (input.nodeClass.status?.capacityReservations ?? []).filter(
    (reservation) => reservation.instanceType === type && zones.has(reservation.availabilityZone),
  );
  return own.map((reservation) => {
    const { id, availabilityZone, reservationType, interruptible, state } = reservation;
    const zone = zones.get(availabilityZone);
    const count = input.reservedCount?.(id) ?? 0;
    const machine = (lookUp(input.prices.onDemand, type) ?? 0) * reservedPriceShare;
    const price = machine + extraPrice(availabilityZone, input);
    const requirements = labelRequirements({
      ...(input.placementGroup === undefined ? {} : { [awsLabels.placementGroupId]: input.placementGroup.id }),
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
      price,
      available: usable,
      reservationCapacity: count,
      ...(usable
        ? {}
        : { unavailableReason: state === 'active' ? 'the reservation is used up' : 'the reservation ends soon' }),
    };
  });
}

function availability(
  price: number | undefined,
  { exhausted, shift }: Zone,
  refused: { readonly until: number; readonly reason: string } | undefined,
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
  const values = new Set(
    offerings.flatMap((offering) => offering.requirements.find((r) => r.key === key)?.values ?? []),
  );
  return values.size === 0 ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values: [...values].sort() };
}
