import { describe, expect, test } from 'vitest';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
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
  test('a reserved one whose reservation the node class no longer selects', () => {
    const reserved = instance({ capacityType: 'reserved', capacityReservationId: 'cr-1' });
    const with1 = nodeClass({ capacityReservations: [{ id: 'cr-1' }] });
    expect(instanceDrift(reserved, claim, with1, [])).toBeUndefined();
    expect(instanceDrift(reserved, claim, nodeClass({ capacityReservations: [{ id: 'cr-2' }] }), [])).toBe(
      'CapacityReservationDrift',
    );
    // It runs on demand by now: its reservation matters no more.
    expect(instanceDrift({ ...reserved, capacityType: 'on-demand' }, claim, nodeClass({}), [])).toBeUndefined();
  });

  test('the order of security groups is none', () => {
    expect(instanceDrift(instance(), claim, nodeClass({}), [])).toBeUndefined();
    expect(instanceDrift(instance({ securityGroupIds: ['sg-1'] }), claim, nodeClass({}), [])).toBe(
      'SecurityGroupDrift',
    );
  });

  test('one in a placement group that the node class does not name, or not any more', () => {
    expect(groupDrift(instance({ placementGroupId: 'pg-1' }), group)).toBeUndefined();
    expect(groupDrift(instance({ placementGroupId: 'pg-2' }), group)).toBe('PlacementGroupDrift');
    expect(groupDrift(instance({ placementGroupId: 'pg-1' }), undefined)).toBe('PlacementGroupDrift');
    expect(groupDrift(instance(), group)).toBeUndefined();
  });
});
