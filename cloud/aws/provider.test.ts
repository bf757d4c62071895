import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { conditionOf } from '../../core/conditions.js';
import { describe, expect, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { EC2NodeClass, EC2NodeClassSpec } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { AwsCalls } from './calls.js';
import { instanceLabels } from './instance-labels.js';
import type { AwsOptions } from './options.js';
import { groupDrift, instanceDrift } from './drift.js';
import { AwsProvider } from './provider.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { awsLabels } from '../../api/aws/labels.js';
import { labels } from '../../api/labels.js';
import type { Ec2Instance } from './instances.js';

const day = 24 * 3_600_000;
const zone = 'eu-central-1a';
const path = '/karpenter/eu-central-1/c/uid-default/';
const m5: InstanceTypeInfo = {
  InstanceType: 'm5.large',
  ProcessorInfo: { SupportedArchitectures: ['x86_64'] },
  VCpuInfo: { DefaultVCpus: 2 },
  MemoryInfo: { SizeInMiB: 8192 },
  Hypervisor: 'nitro',
  SupportedUsageClasses: ['on-demand', 'spot'],
  NetworkInfo: {
    EnaSupport: 'required',
    MaximumNetworkInterfaces: 3,
    Ipv4AddressesPerInterface: 10,
    MaximumNetworkCards: 1,
    NetworkCards: [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: 3 }],
  },
};

/** A region that has m5.large in one zone, a profile and a template of the cluster; `more` replaces calls. */
function world(options: Partial<AwsOptions> = {}, more: object = {}) {
  const removed: string[] = [];
  const nothing = () => Promise.resolve({});
  const calls = {
    describeInstanceTypes: () => Promise.resolve({ InstanceTypes: [m5] }),
    describeInstanceTypeOfferings: () =>
      Promise.resolve({ InstanceTypeOfferings: [{ InstanceType: 'm5.large', Location: zone }] }),
    describeSpotPriceHistory: nothing,
    describeSubnets: nothing,
    describeCapacityReservations: () =>
      Promise.resolve({ CapacityReservations: [{ CapacityReservationId: 'cr-1', AvailableInstanceCount: 3 }] }),
    getProducts: nothing,
    describeLaunchTemplates: () =>
      Promise.resolve({
        LaunchTemplates: [
          {
            LaunchTemplateId: 'lt-1',
            LaunchTemplateName: 'karpenter.k8s.aws/1',
            Tags: [{ Key: 'karpenter.k8s.aws/ec2nodeclass', Value: 'default' }],
            CreateTime: new Date(0),
          },
        ],
      }),
    deleteLaunchTemplate: ({ LaunchTemplateId: id = '' }) => Promise.resolve(void removed.push(id)),
    listInstanceProfiles: () =>
      Promise.resolve({
        InstanceProfiles: [{ InstanceProfileName: 'old', Path: path, CreateDate: new Date(0), Roles: [] }],
      }),
    deleteInstanceProfile: ({ InstanceProfileName: name = '' }) => Promise.resolve(void removed.push(name)),
    ...more,
  } as unknown as AwsCalls;
  const clock = steppingClock(Date.parse('2026-11-20T00:00:00Z') + day);
  return {
    provider: new AwsProvider({ region: 'eu-central-1', clusterName: 'c', ...options }, calls, clock),
    removed,
    clock,
  };
}

const pool = { metadata: { name: 'general' } } as NodePool;
const ready = (spec: Partial<EC2NodeClassSpec> = {}): EC2NodeClass => {
  const reservation = {
    id: 'cr-1',
    availabilityZone: zone,
    instanceType: 'm5.large',
    instanceMatchCriteria: 'open',
    reservationType: 'default',
    ownerID: '1',
    state: 'active',
  };
  const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] };
  const status = {
    subnets: [{ id: 'subnet-1', zone }],
    amis: [{ id: 'ami-1', requirements: [arch] }],
    capacityReservations: [reservation],
  };
  return { ...ec2NodeClass(spec), status } as unknown as EC2NodeClass;
};

/** The capacity types in which m5.large can be had; undefined where it cannot at all. */
async function offered(provider: AwsProvider, nodeClass = ready()): Promise<string[] | undefined> {
  const [type] = await provider.instanceTypes(pool, nodeClass);
  return type?.offerings
    .filter(({ available }) => available)
    .flatMap(({ requirements }) => requirements.find(({ key }) => key === 'karpenter.sh/capacity-type')?.values ?? []);
}

const denied = (action: string) => () => Promise.reject(refusal('UnauthorizedOperation', 'no', action, 403));

// Rule `node-classes/deletion`.
describe('where a template may not be deleted', () => {
  const more = { deleteLaunchTemplate: denied('ec2:DeleteLaunchTemplate') };

  test('a sweep deletes instance profiles all the same, and reports it', async () => {
    const { provider, removed, clock } = world({}, more);
    await expect(provider.sweep([], [])).rejects.toMatchObject({ type: 'Denied' });
    clock.time += 2 * 3_600_000;
    await expect(provider.sweep([], [])).rejects.toMatchObject({ type: 'Denied' });
    expect(removed).toEqual(['old']);
  });

  test('deleting a node class deletes instance profiles all the same', async () => {
    const { provider, removed } = world({}, more);
    await expect(provider.cleanUpNodeClass(ec2NodeClass())).rejects.toMatchObject({ type: 'Denied' });
    expect(removed).toEqual(['old']);
  });
});

test('in an isolated VPC neither the sweep nor deleting a node class calls IAM', async () => {
  const { provider, removed } = world({ isolatedVpc: true });
  await provider.sweep([], []);
  await provider.cleanUpNodeClass(ec2NodeClass());
  expect(removed).toEqual(['lt-1', 'lt-1']);
});

describe('an instance type', () => {
  test.each([
    ['whose card takes the interfaces is offered', [0, 2], true],
    ['whose card takes fewer is not', [0, 3], false],
  ])('%s', async (_, [networkCardIndex, deviceIndex], has) => {
    const first = { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' };
    const networkInterfaces = [first, { ...first, networkCardIndex, deviceIndex }] as never;
    const found = await offered(world().provider, ready({ networkInterfaces }));
    expect(found !== undefined).toBe(has);
  });

  test('without Nitro is not offered with custom connection tracking', async () => {
    const metal = { ...m5, Hypervisor: undefined };
    const described = { describeInstanceTypes: () => Promise.resolve({ InstanceTypes: [metal] }) };
    const connectionTracking = { udpTimeout: 30 };
    expect(await offered(world({}, described).provider)).toBeDefined();
    expect(await offered(world({}, described).provider, ready({ connectionTracking }))).toBeUndefined();
    expect(await offered(world().provider, ready({ connectionTracking }))).toBeDefined();
  });

  // Rule `registration/open-labels`.
  test('of bare metal has labels that are empty for good: no node waits for them', () => {
    const labelsOfMetal = Object.entries(instanceLabels({ ...m5, Hypervisor: undefined }));
    const empty = labelsOfMetal.flatMap(([key, value]) => (value === '' ? [key] : []));
    expect(empty).toEqual(['karpenter.k8s.aws/instance-hypervisor']);
    const { openLabels } = world().provider;
    expect(empty.filter((key) => openLabels.includes(key))).toEqual([]);
  });
});

// Rule `reserved-capacity/gate-off`.
test('a reservation of the node class is launched into unless the gate is off', async () => {
  await expect(offered(world().provider)).resolves.toContain('reserved');
  const off = await offered(world({ reservedCapacity: false }).provider);
  expect(off).toContain('on-demand');
  expect(off).not.toContain('reserved');
});

// Rule `settings/feature-gates`.
test('a node class with reservations says that their gate is off, and one without them says nothing', async () => {
  const said = async (spec: Partial<EC2NodeClassSpec>) => {
    const { status } = await world({ reservedCapacity: false }).provider.resolveNodeClass(ready(spec));
    return conditionOf((status as EC2NodeClass['status'])?.conditions, 'CapacityReservationsReady');
  };
  expect(await said({ capacityReservationSelectorTerms: [{ id: 'cr-1' }] })).toMatchObject({
    ...{ status: 'False', reason: 'FeatureGateOff' },
    message: expect.stringContaining('set FEATURE_GATES=ReservedCapacity=true') as unknown,
  });
  expect(await said({})).toBeUndefined();
});

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
    ['none for it, and the claim has no labels that say so', {}, [image('ami-2', 'amd64')], undefined],
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
