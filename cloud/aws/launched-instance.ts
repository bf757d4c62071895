import type { CreateFleetCommandOutput } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import type { InstanceType } from '../../core/instance-type.js';
import { allocatableOf, pinnedLabels, pinnedValue, type LaunchOption } from '../../core/launch-options.js';
import { parseResources, type Resources } from '../../core/quantities.js';
import type { LaunchedInstance, LaunchRequest } from '../port.js';
import { providerIdOf, type Ec2Instance } from './instances.js';
import { capacityTypeOf, tenancyOf, zoneOf } from './launch-choice.js';
import { nodePoolNameOf } from './tags.js';
import { nameOf } from '../../core/names.js';

/** A launch from an EC2NodeClass. */
export interface Ec2LaunchRequest extends LaunchRequest {
  readonly nodeClass: EC2NodeClass;
}

/** The launch result for an instance that an earlier launch created. Throws if its type is not in the catalogue. */
export function adoptedInstance(
  types: readonly InstanceType[],
  request: Ec2LaunchRequest,
  instance: Ec2Instance,
): LaunchedInstance {
  const type = types.find((candidate) => candidate.name === instance.instanceType);
  if (type === undefined) {
    throw new DomainError(
      'Unavailable',
      `${instance.instanceId} is of type ${instance.instanceType}, which is not in the catalogue`,
    );
  }
  const { zone, capacityType } = instance;
  const offering = type.offerings.find(({ requirements }) => isOf(requirements, instance));
  const inZone = [
    { key: labels.zone, operator: 'In' as const, values: [zone] },
    { key: labels.capacityType, operator: 'In' as const, values: [capacityType] },
  ];
  const option: LaunchOption = { type, offering: offering ?? { requirements: inZone, price: 0, available: false } };
  const launched = launchedInstance(request, option, { instanceId: instance.instanceId, imageId: instance.imageId });
  return {
    ...launched,
    labels: { ...launched.labels, ...partitionOf(launched.labels, instance) },
    unavailable: [],
    ...(offering === undefined ? {} : { pricePerHour: offering.price }),
  };
}

/** Empty while EC2 does not report the partition; registration then waits for it (registration/open-labels). */
function partitionOf(offered: LaunchedInstance['labels'], { labels: own }: Ec2Instance): Record<string, string> {
  const key = awsLabels.placementGroupPartition;
  return offered[key] === undefined ? {} : { [key]: own[key] ?? '' };
}

/** Whether the instance came from this offering; compares reservation and partition in addition to the zone. */
function isOf(requirements: readonly NodeSelectorRequirement[], instance: Ec2Instance): boolean {
  const reservation = instance.capacityType === 'reserved' ? instance.capacityReservationId : undefined;
  const partition = instance.labels[awsLabels.placementGroupPartition];
  return (
    pinnedValue(requirements, labels.zone) === instance.zone &&
    pinnedValue(requirements, labels.capacityType) === instance.capacityType &&
    (reservation === undefined || pinnedValue(requirements, awsLabels.capacityReservationId) === reservation) &&
    (partition === undefined ||
      (pinnedValue(requirements, awsLabels.placementGroupPartition) ?? partition) === partition)
  );
}

/** The launch result for an instance launched for the claim as `option`. */
export function launchedInstance(
  request: Ec2LaunchRequest,
  option: LaunchOption,
  instance: { readonly instanceId: string; readonly imageId: string | undefined },
): Omit<LaunchedInstance, 'unavailable' | 'pricePerHour'> {
  const { nodeClass, claim } = request;
  const nodePool = nodePoolNameOf(claim);
  const own = nodeClass.metadata.annotations ?? {};
  const hash = own[annotations.ec2NodeClassHash];
  const version = own[annotations.ec2NodeClassHashVersion];
  const profile = nodeClass.status?.instanceProfile;
  return {
    providerId: providerIdOf(zoneOf(option), instance.instanceId),
    instanceId: instance.instanceId,
    instanceType: option.type.name,
    zone: zoneOf(option),
    capacityType: capacityTypeOf(option),
    ...(instance.imageId === undefined ? {} : { imageId: instance.imageId }),
    labels: {
      ...pinnedLabels(option, claim.spec.requirements),
      [awsLabels.instanceTenancy]: tenancyOf(claim),
      ...(nodePool === '' ? {} : { [labels.nodePool]: nodePool }),
      [labels.ec2NodeClass]: nameOf(nodeClass),
    },
    annotations: {
      ...(hash === undefined ? {} : { [annotations.ec2NodeClassHash]: hash }),
      ...(version === undefined ? {} : { [annotations.ec2NodeClassHashVersion]: version }),
      ...(profile === undefined ? {} : { [annotations.instanceProfileName]: profile }),
    },
    capacity: attached(option.type.capacity, request),
    allocatable: attached(allocatableOf(option.type), request),
  };
}

const efa = 'vpc.amazonaws.com/efa';

/** A type that supports EFA interfaces has none on a node launched without them (instance-types/efa). */
function attached(resources: Resources, { claim, nodeClass }: Ec2LaunchRequest): Resources {
  const asked = parseResources(claim.spec.resources?.requests)[efa] ?? 0;
  const own = nodeClass.spec.networkInterfaces?.some(({ interfaceType }) => interfaceType === 'efa-only') === true;
  if (asked > 0 || own || resources[efa] === undefined) return resources;
  return Object.fromEntries(Object.entries(resources).filter(([name]) => name !== efa));
}

/** The instance in a CreateFleet response; undefined if it has none. */
export function madeInstance(
  answer: CreateFleetCommandOutput,
  zoneOfSubnet: ReadonlyMap<string, string>,
): MadeInstance | undefined {
  const made = answer.Instances?.find((instance) => (instance.InstanceIds?.length ?? 0) > 0);
  const instanceId = made?.InstanceIds?.[0];
  if (made === undefined || instanceId === undefined) return undefined;
  const overrides = made.LaunchTemplateAndOverrides?.Overrides;
  const { InstanceType: type, AvailabilityZone: zone, ImageId: imageId, SubnetId: subnetId = '' } = overrides ?? {};
  return {
    instanceId,
    type: made.InstanceType ?? type,
    zone: zone ?? zoneOfSubnet.get(subnetId),
    imageId,
    subnetId,
  };
}

/** An instance as a CreateFleet response describes it. */
interface MadeInstance {
  readonly instanceId: string;
  readonly type: string | undefined;
  readonly zone: string | undefined;
  readonly imageId: string | undefined;
  readonly subnetId: string;
}
