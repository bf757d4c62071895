import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { ResolvedAmi } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { intersects } from '../../core/launch-options.js';
import { SharedRequirements } from '../../core/shared-requirements.js';
import { isDomainError } from '../../core/failures.js';
import type { CatalogueInput } from './catalogue-input.js';
import { eniPods, machineResources } from './capacity.js';
import { families } from './families.js';
import { architectureOf, instanceLabels, labelRequirements } from './instance-labels.js';
import { resolvedKubelet } from './kubelet-expressions.js';
import type { MachineTypes } from './machine-types.js';
import { OfferingBuilder } from './offerings.js';
import type { NetworkInterface } from '../../api/aws/network-interfaces.js';

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
  const knownMemory = input.knownMemory?.(name, ami.id);
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
      ...(knownMemory === undefined ? {} : { knownMemory }),
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
    return resolvedKubelet(spec.kubelet, info, eniPods(info, reservedEnis));
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
