import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { answer, paged } from './ec2-answers.js';
import { accountId } from './events.js';
import { passes, tagValues } from './filters.js';
import { partitionOf } from './partition.js';
import { filtersOf, strings, type Params } from './query.js';
import type { CapacityReservation, PlacementGroup } from './settings.js';
import { element, type XmlElement } from './xml.js';

const tagSet = (tags: Record<string, string> | undefined): XmlElement =>
  element(
    'tagSet',
    Object.entries(tags ?? {}).map(([key, value]) => element('item', [element('key', key), element('value', value)])),
  );

/** What an answer says of the part of a reservation that is interruptible. */
export const allocationElements = (allocation: CapacityReservation['allocation']): XmlElement[] =>
  allocation === undefined
    ? []
    : [
        element('instanceCount', allocation.count),
        element('targetInstanceCount', allocation.count),
        element('status', 'active'),
        element('interruptibleCapacityReservationId', allocation.id),
        element('interruptionType', 'adhoc'),
      ];

/** The reservation under the name that it has in the answer. */
export function reservationElement(name: string, each: CapacityReservation, region: string): XmlElement {
  const owner = each.ownerId ?? accountId;
  return element(name, [
    element('capacityReservationId', each.id),
    element('ownerId', owner),
    element(
      'capacityReservationArn',
      `arn:${partitionOf(region).name}:ec2:${region}:${owner}:capacity-reservation/${each.id}`,
    ),
    element('instanceType', each.instanceType),
    element('instancePlatform', 'Linux/UNIX'),
    element('availabilityZone', each.zone),
    element('tenancy', 'default'),
    element('totalInstanceCount', each.total),
    element('availableInstanceCount', each.available),
    element('state', each.state ?? 'active'),
    element('instanceMatchCriteria', each.matchCriteria ?? 'targeted'),
    element('reservationType', each.type ?? 'default'),
    each.interruptible === undefined ? undefined : element('interruptible', String(each.interruptible)),
    each.allocation && element('interruptibleCapacityAllocation', allocationElements(each.allocation)),
    each.endDate === undefined ? element('endDateType', 'unlimited') : element('endDateType', 'limited'),
    each.endDate === undefined ? undefined : element('endDate', each.endDate),
    tagSet(each.tags),
  ]);
}

/** DescribeCapacityReservations of the scripted reservations. */
export function describeCapacityReservations(cloud: Cloud, params: Params): Promise<XmlElement> {
  const all = cloud.settings.capacityReservations;
  const ids = strings(params, 'CapacityReservationId');
  const missing = ids.filter((id) => !all.some((each) => each.id === id));
  if (missing.length > 0) {
    const message = `The capacity reservation ID '${missing.join(', ')}' does not exist`;
    throw new AwsError('InvalidCapacityReservationId.NotFound', message);
  }
  const filters = filtersOf(params);
  const items = all
    .filter(({ id }) => ids.length === 0 || ids.includes(id))
    .filter((each) => passes(filters, (name) => reservationValues(each, name)))
    .map((each) => reservationElement('item', each, cloud.region));
  const bounds = { minimum: 1, maximum: 1000, standard: 1000 };
  return Promise.resolve(paged('DescribeCapacityReservations', 'capacityReservationSet', items, params, bounds));
}

function reservationValues(each: CapacityReservation, name: string): readonly string[] | undefined {
  const values: Record<string, string> = {
    'instance-type': each.instanceType,
    'owner-id': each.ownerId ?? accountId,
    state: each.state ?? 'active',
    'availability-zone': each.zone,
    'instance-match-criteria': each.matchCriteria ?? 'targeted',
    tenancy: 'default',
    'reservation-type': each.type ?? 'default',
  };
  return values[name] === undefined ? tagValues(name, new Map(Object.entries(each.tags ?? {}))) : [values[name]];
}

/** The group under the name that it has in the answer. */
export const placementGroupElement = (name: string, each: PlacementGroup): XmlElement =>
  element(name, [
    element('groupId', each.id),
    element('groupName', each.name),
    element('strategy', each.strategy),
    element('state', 'available'),
    each.partitionCount === undefined ? undefined : element('partitionCount', each.partitionCount),
    each.spreadLevel === undefined ? undefined : element('spreadLevel', each.spreadLevel),
    tagSet(each.tags),
  ]);

/** DescribePlacementGroups of the scripted groups. */
export function describePlacementGroups(cloud: Cloud, params: Params): Promise<XmlElement> {
  const all = cloud.settings.placementGroups;
  const ids = strings(params, 'GroupId');
  const names = strings(params, 'GroupName');
  const known = (each: PlacementGroup): boolean => ids.includes(each.id) || names.includes(each.name);
  if (ids.length + names.length > 0 && !all.some(known)) {
    const message = `The Placement Group '${[...ids, ...names].join(', ')}' is unknown.`;
    throw new AwsError('InvalidPlacementGroup.Unknown', message);
  }
  const filters = filtersOf(params);
  const items = all
    .filter((each) => ids.length + names.length === 0 || known(each))
    .filter((each) =>
      passes(filters, (name) => {
        const values: Record<string, string> = { 'group-name': each.name, state: 'available', strategy: each.strategy };
        return values[name] === undefined ? tagValues(name, new Map(Object.entries(each.tags ?? {}))) : [values[name]];
      }),
    )
    .map((each) => placementGroupElement('item', each));
  return Promise.resolve(answer('DescribePlacementGroups', [element('placementGroupSet', items)]));
}
