import { describe, expect, test } from '@jest/globals';
import { Cloud } from './cloud.js';
import { experiments } from './server.js';
import { createAllocation, updateAllocation } from './interruptible-reservations.js';
import {
  cancelCapacityReservation,
  createCapacityReservation,
  createPlacementGroup,
  deletePlacementGroup,
} from './made-resources.js';
import { placementOf } from './placement.js';
import { describeCapacityReservations, describePlacementGroups } from './scripted-resources.js';
import { itemsOf, textOf } from './xml.js';

const emptyCloud = (): Cloud =>
  new Cloud({
    motoEndpoint: 'http://127.0.0.1:9',
    region: 'us-west-2',
    cluster: 'prod',
    clusterEndpoint: 'https://127.0.0.1',
    clusterCertificate: undefined,
  });

const codeOf = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe('capacity reservations created by calls to the local cloud', () => {
  const asked = {
    InstanceType: 'm5.large',
    AvailabilityZone: 'us-west-2a',
    InstanceCount: '2',
    InstanceMatchCriteria: 'targeted',
    TagSpecification: { '1': { ResourceType: 'capacity-reservation', Tag: { '1': { Key: 'team', Value: 'blue' } } } },
  };
  const pool = { instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'on-demand' as const };

  test('are described, used up, and no longer active once cancelled', async () => {
    const cloud = emptyCloud();

    const made = await createCapacityReservation(cloud, asked);
    const id = textOf(made, 'capacityReservation', 'capacityReservationId')!;

    const described = await describeCapacityReservations(cloud, {
      Filter: { '1': { Name: 'tag:team', Value: { '1': 'blue' } } },
    });
    const [item] = itemsOf(described, 'capacityReservationSet');
    expect(textOf(item, 'capacityReservationId')).toBe(id);
    expect(textOf(item, 'instanceMatchCriteria')).toBe('targeted');
    expect(cloud.takeReservation(id, pool, 3)).toMatchObject({
      granted: 2,
      error: { code: 'ReservationCapacityExceeded' },
    });

    await cancelCapacityReservation(cloud, { CapacityReservationId: id });

    expect(cloud.settings.capacityReservations).toMatchObject([{ id, state: 'cancelled', available: 0 }]);
    expect(cloud.takeReservation(id, pool, 1).granted).toBe(0);
  });

  test('that do not exist cannot be cancelled', () => {
    expect(codeOf(() => cancelCapacityReservation(emptyCloud(), { CapacityReservationId: 'cr-1' }))).toBe(
      'InvalidCapacityReservationId.NotFound',
    );
  });
});

test('capacity of a reservation can be split off and moved back', async () => {
  const cloud = emptyCloud();
  const made = await createCapacityReservation(cloud, {
    ...{ InstanceType: 'm5.large', AvailabilityZone: 'us-west-2a', InstanceCount: '3' },
  });
  const source = { CapacityReservationId: textOf(made, 'capacityReservation', 'capacityReservationId')! };
  expect(codeOf(() => updateAllocation(cloud, { ...source, TargetInstanceCount: '0' }))).toBe('InvalidState');
  expect(codeOf(() => createAllocation(cloud, { ...source, InstanceCount: '4' }))).toBe('InvalidParameterValue');

  await createAllocation(cloud, { ...source, InstanceCount: '1' });

  const [item] = itemsOf(
    await describeCapacityReservations(cloud, { CapacityReservationId: { '1': source.CapacityReservationId } }),
    'capacityReservationSet',
  );
  const part = textOf(item, 'interruptibleCapacityAllocation', 'interruptibleCapacityReservationId');
  expect(cloud.settings.capacityReservations).toMatchObject([
    { total: 3, available: 2 },
    { id: part, total: 1, available: 1, interruptible: true, instanceType: 'm5.large', zone: 'us-west-2a' },
  ]);

  await updateAllocation(cloud, { ...source, TargetInstanceCount: '0' });

  expect(cloud.settings.capacityReservations).toMatchObject([
    { available: 3 },
    { id: part, available: 0, state: 'cancelled' },
  ]);
});

test('a placement group created by a call exists once, until it is deleted', async () => {
  const cloud = emptyCloud();
  const group = { GroupName: 'apart', Strategy: 'partition', PartitionCount: '3' };

  await createPlacementGroup(cloud, group);

  const [item] = itemsOf(await describePlacementGroups(cloud, { GroupName: { '1': 'apart' } }), 'placementGroupSet');
  expect(textOf(item, 'partitionCount')).toBe('3');
  expect(codeOf(() => createPlacementGroup(cloud, group))).toBe('InvalidPlacementGroup.Duplicate');
  await deletePlacementGroup(cloud, group);
  expect(codeOf(() => deletePlacementGroup(cloud, group))).toBe('InvalidPlacementGroup.Unknown');
});

test("a launch is placed in its template's placement group, in the requested partition or the next", async () => {
  const cloud = emptyCloud();
  await createPlacementGroup(cloud, { GroupName: 'apart', Strategy: 'partition', PartitionCount: '3' });
  await createPlacementGroup(cloud, { GroupName: 'near', Strategy: 'cluster' });
  const [apart, near] = cloud.settings.placementGroups.map(({ id }) => id);

  expect(placementOf(cloud, { Placement: { GroupName: 'apart', PartitionNumber: '3' } })).toEqual({
    groupId: apart,
    groupName: 'apart',
    partition: 3,
  });
  expect(placementOf(cloud, { Placement: { GroupId: apart! } })).toMatchObject({ partition: 1 });
  expect(placementOf(cloud, { Placement: { GroupId: near! } })).toEqual({ groupId: near, groupName: 'near' });
  expect(placementOf(cloud, {})).toBeUndefined();
});

describe('experiments of Fault Injection Service', () => {
  const template = (actionId: string): string =>
    JSON.stringify({
      actions: { warn: { actionId, targets: { SpotInstances: 'some' } } },
      targets: { some: { resourceArns: ['arn:aws:ec2:us-west-2:123456789012:instance/i-1'] } },
    });
  const create = (cloud: Cloud, actionId: string): string =>
    (experiments(cloud, 'POST', '/experimentTemplates', template(actionId)) as { experimentTemplate: { id: string } })
      .experimentTemplate.id;
  const start = (cloud: Cloud, experimentTemplateId: string): unknown =>
    codeOf(() => experiments(cloud, 'POST', '/experiments', JSON.stringify({ experimentTemplateId })));

  test('interrupt existing instances, by that action alone, while their template exists', () => {
    const cloud = emptyCloud();
    const id = create(cloud, 'aws:ec2:send-spot-instance-interruptions');

    expect(start(cloud, id)).toBe('InvalidInstanceID.NotFound');
    expect(start(cloud, create(cloud, 'aws:ec2:reboot-instances'))).toBe('ValidationException');
    experiments(cloud, 'DELETE', `/experimentTemplates/${id}`, '');
    expect(start(cloud, id)).toBe('ResourceNotFoundException');
  });
});
