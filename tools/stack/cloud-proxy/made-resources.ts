import { randomBytes } from 'node:crypto';
import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { answer } from './ec2-answers.js';
import { param, strings, structs, type Params } from './query.js';
import { placementGroupElement, reservationElement } from './scripted-resources.js';
import type { CapacityReservation, PlacementGroup } from './settings.js';
import { element, type XmlElement } from './xml.js';

/** An id as EC2 gives them. */
export const newId = (prefix: string): string => `${prefix}-${randomBytes(9).toString('hex').slice(0, 17)}`;

const succeeded = (action: string): Promise<XmlElement> => Promise.resolve(answer(action, [element('return', 'true')]));

/** The tags that a request gives to what it makes. */
function tagsOf(params: Params): Record<string, string> {
  const tags = structs(params, 'TagSpecification').flatMap((each) => structs(each, 'Tag'));
  return Object.fromEntries(tags.map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? '']));
}

/** CreateCapacityReservation: active at once, as EC2 has it where there is capacity. */
export function createCapacityReservation(cloud: Cloud, params: Params): Promise<XmlElement> {
  const total = Number(param(params, 'InstanceCount'));
  const endDate = param(params, 'EndDate');
  const made: CapacityReservation = {
    id: newId('cr'),
    instanceType: param(params, 'InstanceType') ?? '',
    zone: param(params, 'AvailabilityZone') ?? '',
    total,
    available: total,
    matchCriteria: param(params, 'InstanceMatchCriteria') === 'targeted' ? 'targeted' : 'open',
    ...(endDate !== undefined && { endDate }),
    tags: tagsOf(params),
  };
  cloud.configure({ capacityReservations: [...cloud.settings.capacityReservations, made] });
  return Promise.resolve(
    answer('CreateCapacityReservation', [reservationElement('capacityReservation', made, cloud.region)]),
  );
}

/** CancelCapacityReservation: its instances go on, as on-demand ones. */
export function cancelCapacityReservation(cloud: Cloud, params: Params): Promise<XmlElement> {
  const id = param(params, 'CapacityReservationId') ?? '';
  const reservation = cloud.settings.capacityReservations.find((each) => each.id === id);
  if (reservation === undefined) {
    const message = `The capacity reservation ID '${id}' does not exist`;
    throw new AwsError('InvalidCapacityReservationId.NotFound', message);
  }
  Object.assign(reservation, { state: 'cancelled', available: 0 });
  cloud.instances.leaveReservation(id);
  return succeeded('CancelCapacityReservation');
}

/** CreatePlacementGroup. */
export function createPlacementGroup(cloud: Cloud, params: Params): Promise<XmlElement> {
  const name = param(params, 'GroupName') ?? '';
  if (cloud.settings.placementGroups.some((each) => each.name === name)) {
    throw new AwsError('InvalidPlacementGroup.Duplicate', `The Placement Group '${name}' already exists.`);
  }
  const partitions = param(params, 'PartitionCount');
  const made: PlacementGroup = {
    id: newId('pg'),
    name,
    strategy: (param(params, 'Strategy') ?? 'cluster') as PlacementGroup['strategy'],
    ...(partitions !== undefined && { partitionCount: Number(partitions) }),
    tags: tagsOf(params),
  };
  cloud.configure({ placementGroups: [...cloud.settings.placementGroups, made] });
  return Promise.resolve(answer('CreatePlacementGroup', [placementGroupElement('placementGroup', made)]));
}

/** DeletePlacementGroup. */
export function deletePlacementGroup(cloud: Cloud, params: Params): Promise<XmlElement> {
  const name = param(params, 'GroupName') ?? '';
  const rest = cloud.settings.placementGroups.filter((each) => each.name !== name);
  if (rest.length === cloud.settings.placementGroups.length) {
    throw new AwsError('InvalidPlacementGroup.Unknown', `The Placement Group '${name}' is unknown.`);
  }
  cloud.configure({ placementGroups: rest });
  return succeeded('DeletePlacementGroup');
}

/** CopyImage, into the account's own images: moto drops the tags. */
export async function copyImage(cloud: Cloud, params: Params): Promise<XmlElement> {
  const reply = await cloud.moto.ec2('CopyImage', params);
  const id = reply.children.find(({ name }) => name === 'imageId')?.text ?? '';
  const architecture = cloud.imageArchitectures.get(param(params, 'SourceImageId') ?? '');
  if (architecture !== undefined) cloud.imageArchitectures.set(id, architecture);
  const tags = structs(params, 'TagSpecification').flatMap((each) => structs(each, 'Tag'));
  if (tags.length > 0) {
    const Tag = Object.fromEntries(tags.map((tag, index) => [String(index + 1), tag]));
    await cloud.moto.ec2('CreateTags', { ResourceId: { '1': id }, Tag });
  }
  return reply;
}

/** EnableImageDeprecation. */
export function enableImageDeprecation(cloud: Cloud, params: Params): Promise<XmlElement> {
  cloud.deprecations.set(param(params, 'ImageId') ?? '', param(params, 'DeprecateAt') ?? '');
  return succeeded('EnableImageDeprecation');
}

/** StopInstances. */
export async function stopInstances(cloud: Cloud, params: Params): Promise<XmlElement> {
  const instances = cloud.instances.require(strings(params, 'InstanceId'));
  const reply = await cloud.moto.ec2('StopInstances', params);
  cloud.instances.stop(instances);
  return reply;
}
