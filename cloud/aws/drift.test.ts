import { describe, expect, test } from 'vitest';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { awsLabels } from '../../api/aws/labels.js';
import { labels } from '../../api/labels.js';
import { groupDrift, instanceDrift } from './drift.js';
import type { Ec2Instance } from './instances.js';

const instance = (more: Partial<Ec2Instance> = {}): Ec2Instance => ({
  providerId: 'aws:///us-west-2a/i-1',
  instanceId: 'i-1',
  state: 'running',
  instanceType: 'm5.large',
  zone: 'us-west-2a',
  capacityType: 'on-demand',
  launchedAt: 0,
  tags: {},
  labels: {},
  subnetId: 'subnet-1',
  securityGroupIds: ['sg-1', 'sg-2'],
  capacityReservationId: undefined,
  placementGroupId: undefined,
  ...more,
});
const nodeClass = (status: object): EC2NodeClass =>
  ({
    status: {
      subnets: [{ id: 'subnet-1', zone: 'us-west-2a' }],
      securityGroups: [{ id: 'sg-2' }, { id: 'sg-1' }],
      ...status,
    },
  }) as unknown as EC2NodeClass;
const claim = { metadata: {} } as NodeClaim;
const group = { id: 'pg-1', strategy: 'spread', partitions: 0 };

describe('drift of an instance (drift/node-class)', () => {
  test('a reserved instance whose reservation the node class no longer selects has drifted', () => {
    const reserved = instance({ capacityType: 'reserved', capacityReservationId: 'cr-1' });
    const with1 = nodeClass({ capacityReservations: [{ id: 'cr-1' }] });
    expect(instanceDrift(reserved, claim, with1, [])).toBeUndefined();
    expect(instanceDrift(reserved, claim, nodeClass({ capacityReservations: [{ id: 'cr-2' }] }), [])).toBe(
      'CapacityReservationDrift',
    );
    // It runs on demand by now: its reservation matters no more.
    expect(instanceDrift({ ...reserved, capacityType: 'on-demand' }, claim, nodeClass({}), [])).toBeUndefined();
  });

  const image = (id: string, arch: string, ...more: readonly object[]) => ({
    ...{ id, name: id },
    requirements: [{ key: labels.arch, operator: 'In', values: [arch] }, ...more],
  });
  const gpus = { key: awsLabels.instanceGpuCount, operator: 'Exists' };
  const arm = { [labels.instanceType]: 'm6g.large', [labels.arch]: 'arm64' };

  // A type that no image fits is in no catalogue.
  test.each([
    ['none for its architecture', arm, [image('ami-2', 'amd64')], 'AMIDrift'],
    ['one for such with accelerators alone', arm, [image('ami-2', 'arm64', gpus)], 'AMIDrift'],
    ['one for it', arm, [image('ami-1', 'amd64'), image('ami-2', 'arm64')], undefined],
    ['none at all', arm, [], undefined],
    ['none for it, as far as a claim without labels tells', {}, [image('ami-2', 'amd64')], undefined],
  ])('a machine whose node class has now %s', (_case, own, amis, expected) => {
    const claimed = { metadata: { labels: own } } as NodeClaim;
    const of = instance({ instanceType: 'm6g.large', imageId: 'ami-1' });
    expect(instanceDrift(of, claimed, nodeClass({ amis }), [])).toBe(expected);
  });

  test('another order of security groups is no drift', () => {
    expect(instanceDrift(instance(), claim, nodeClass({}), [])).toBeUndefined();
    expect(instanceDrift(instance({ securityGroupIds: ['sg-1'] }), claim, nodeClass({}), [])).toBe(
      'SecurityGroupDrift',
    );
  });

  test('an instance in a placement group that the node class does not name has drifted', () => {
    expect(groupDrift(instance({ placementGroupId: 'pg-1' }), group)).toBeUndefined();
    expect(groupDrift(instance({ placementGroupId: 'pg-2' }), group)).toBe('PlacementGroupDrift');
    expect(groupDrift(instance({ placementGroupId: 'pg-1' }), undefined)).toBe('PlacementGroupDrift');
    expect(groupDrift(instance(), group)).toBeUndefined();
  });
});
