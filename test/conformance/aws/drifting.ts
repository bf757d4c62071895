import type { Instance } from '@aws-sdk/client-ec2';
import { resolvedAmiFamily } from '../../../api/aws/node-class-rules.js';
import { annotations, labels } from '../../../api/labels.js';
import { ec2NodeClassHash, ec2NodeClassHashVersion } from '../../../cloud/aws/node-class.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { runningNode } from '../running/nodes.js';
import { minute, running } from '../running/stage.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, resolved } from './account.js';
import { InstancesOfAccount, providerIdOf } from './instances-of-account.js';
import { custom } from './launch-templates.js';

const id = 'i-0';
const like: Partial<Instance> = {
  ...{ ImageId: 'ami-amd64', SubnetId: 'subnet-1' },
  SecurityGroups: resolved.securityGroups.map(({ id: GroupId }) => ({ GroupId })),
};
const of = (hash: string, version?: string): Record<string, string> => ({
  [annotations.ec2NodeClassHash]: hash,
  ...(version !== undefined && { [annotations.ec2NodeClassHashVersion]: version }),
});

interface Look {
  readonly instance?: Partial<Instance> | undefined;
  readonly isGone?: boolean;
  readonly spec?: object;
  readonly status?: object;
  /** Annotations of claim and node class. */
  readonly marks?: readonly [claim: Record<string, string>, nodeClass: Record<string, string>];
  readonly withoutType?: boolean;
  readonly providerID?: string | undefined;
}

/** Why an instance of m5.large has drifted, which is as its node class asks for unless something else is said. */
async function driftOf({ marks = [{}, {}], ...look }: Look): Promise<string | undefined> {
  const ec2 = new InstancesOfAccount();
  if (look.isGone !== true) ec2.put(id, { ...like, ...look.instance });
  const world = account({
    types: ['m5.large'],
    calls: ec2.calls,
    annotations: marks[1],
    ...(look.spec === undefined ? {} : { spec: look.spec }),
    ...(look.status === undefined ? {} : { status: look.status }),
  });
  const made = nodeClaim('c', { status: 'providerID' in look ? {} : { providerID: providerIdOf(id) } });
  const own = { ...made.metadata.labels, ...(look.withoutType !== true && { [labels.instanceType]: 'm5.large' }) };
  const claim = { ...made, metadata: { ...made.metadata, labels: own, annotations: marks[0] } };
  return world.provider.drift(claim, nodePool('default'), world.nodeClass);
}
const drifts = (look: Look, expected?: string): Check => gives(() => driftOf(look), expected);

const reserved: Partial<Instance> = {
  CapacityReservationId: 'cr-1',
  CapacityReservationSpecification: { CapacityReservationPreference: 'capacity-reservations-only' },
};
const reservations = (...ids: readonly string[]): object => ({
  capacityReservations: ids.map((each) => ({ id: each })),
});
const others = { ImageId: 'ami-old', SubnetId: 'subnet-old', SecurityGroups: [{ GroupId: 'sg-old' }] };
const [group] = like.SecurityGroups!;
const incomparable = (at: number, title: string, look: Look, why: string): ConformanceCase =>
  differs(at, title, 'drift/node-class', why, drifts(look));

/** A claim that has drifted by its hash in the running product, once something it refers to is gone. */
const survives = (at: number, title: string, kind: 'NodePool' | 'EC2NodeClass'): ConformanceCase =>
  same(
    at,
    title,
    running([], async (it) => {
      runningNode(it);
      await it.pass(minute);
      await it.kube.delete(kind, { name: 'default' });
      it.cloud.setDrift('n1', 'AMIDrift');
      await it.pass(6 * minute);
      return it.get('NodeClaim', 'n1')?.status?.conditions?.filter(({ type }) => type === 'Drifted');
    }),
  );

const resolvedCases: readonly ConformanceCase[] = about('drift from what the node class resolves to', [
  survives(816, 'no drift without a node class', 'EC2NodeClass'),
  survives(822, 'no drift without a NodePool', 'NodePool'),
  same(828, 'drift by another image', drifts({ instance: { ImageId: 'ami-old' } }, 'AMIDrift')),
  same(
    834,
    'the hash of the node class comes before other reasons',
    drifts({ instance: others, marks: [of('a', 'v4'), of('b', 'v4')] }, 'NodeClassDrift'),
  ),
  same(851, 'drift by another subnet', drifts({ instance: { SubnetId: 'subnet-old' } }, 'SubnetDrift')),
  incomparable(
    860,
    'no drift while the node class has no subnets',
    { instance: { SubnetId: 'subnet-old' }, status: { subnets: [] } },
    'without subnets nothing can be said of one',
  ),
  same([867, 988], 'no drift when nothing changed', drifts({})),
  incomparable(
    872,
    'no drift while the node class has no security groups',
    { instance: { SecurityGroups: [{ GroupId: 'sg-old' }] }, status: { securityGroups: [] } },
    'without groups nothing can be said of them',
  ),
  same(
    880,
    'drift by another security group',
    drifts({ instance: { SecurityGroups: [{ GroupId: 'sg-old' }] } }, 'SecurityGroupDrift'),
  ),
  same(
    890,
    'drift by one more security group',
    drifts({ instance: { SecurityGroups: [...like.SecurityGroups!, { GroupId: 'sg-old' }] } }, 'SecurityGroupDrift'),
  ),
  same(
    900,
    'drift by one security group less',
    drifts({ instance: { SecurityGroups: [group!] } }, 'SecurityGroupDrift'),
  ),
  same(
    916,
    'drift by a reservation that is no longer selected',
    gives(
      async () => [
        await driftOf({ instance: reserved, status: reservations('cr-1') }),
        await driftOf({ instance: reserved, status: reservations('cr-2') }),
      ],
      [undefined, 'CapacityReservationDrift'],
    ),
  ),
  same(948, 'no drift once the instance has left its reservation', drifts({ status: reservations() })),
  incomparable(
    993,
    'no drift of a claim without an instance type',
    { withoutType: true },
    'EC2 says the type of the instance',
  ),
  incomparable(998, 'no drift of a claim without an image', {}, 'EC2 says the image of the instance'),
  incomparable(
    1003,
    'no drift of a claim without an instance',
    { providerID: undefined },
    'there is nothing to compare',
  ),
  incomparable(1009, 'no drift of an instance that is gone', { isGone: true }, 'garbage collection sees to its claim'),
  same(
    1016,
    'drift by an image that does not fit the type',
    drifts(
      {
        spec: custom,
        instance: { ImageId: 'ami-arm64' },
        status: { amis: resolved.amis.filter(({ id: image }) => image === 'ami-amd64') },
      },
      'AMIDrift',
    ),
  ),
]);

const disk = (more: object): object => ({
  blockDeviceMappings: [
    {
      ...{ deviceName: 'fakeName', rootVolume: false },
      ebs: {
        ...{ deleteOnTermination: false, encrypted: false, iops: 3000, kmsKeyID: 'key', snapshotID: 'snap-1' },
        ...{
          throughput: 125,
          volumeSize: '2G',
          volumeType: 'standard',
          ...('ebs' in more ? (more.ebs as object) : {}),
        },
      },
      ...('ebs' in more ? {} : more),
    },
  ],
});
const base = {
  ...{ userData: 'words', tags: { fakeKey: 'fakeValue' }, context: 'context', detailedMonitoring: false },
  associatePublicIPAddress: false,
  metadataOptions: {
    ...{ httpEndpoint: 'disabled', httpProtocolIPv6: 'disabled' },
    ...{ httpPutResponseHopLimit: 1, httpTokens: 'optional' },
  },
  ...disk({}),
};
const hashOf = (spec: object): Record<string, string> => {
  const { nodeClass } = account({ spec });
  const amiFamily = resolvedAmiFamily(nodeClass.spec);
  return of(ec2NodeClassHash(nodeClass.spec, { amiFamily, caBundle: 'ca' }), ec2NodeClassHashVersion);
};
/** A claim that was launched before the node class was changed, drifted by what its own hash says. */
const changed = (at: number, field: string, spec: object, expected?: string): ConformanceCase =>
  same(
    at,
    `${expected === undefined ? 'no drift by' : 'drift by'} ${field}`,
    gives(
      async () => [
        await driftOf({ marks: [hashOf(base), hashOf(base)] }),
        await driftOf({ marks: [hashOf(base), hashOf({ ...base, ...spec })] }),
      ],
      [undefined, expected],
    ),
  );
const option = (name: string, value: unknown): object => ({
  metadataOptions: { ...base.metadataOptions, [name]: value },
});
const selected = { tags: { key: 'value' } };

const staticFields: readonly (readonly [field: string, change: object])[] = [
  ['userData', { userData: 'other words' }],
  ['tags', { tags: { other: 'value' } }],
  ['context', { context: 'context-2' }],
  ['detailedMonitoring', { detailedMonitoring: true }],
  ['instanceStorePolicy', { instanceStorePolicy: 'RAID0' }],
  ['associatePublicIPAddress', { associatePublicIPAddress: true }],
  ['httpEndpoint', option('httpEndpoint', 'enabled')],
  ['httpProtocolIPv6', option('httpProtocolIPv6', 'enabled')],
  ['httpPutResponseHopLimit', option('httpPutResponseHopLimit', 10)],
  ['httpTokens', option('httpTokens', 'required')],
  ['deviceName', disk({ deviceName: 'other' })],
  ['rootVolume', disk({ rootVolume: true })],
  ...(
    [
      ['deleteOnTermination', true],
      ['encrypted', true],
      ['iops', 10_000],
      ['kmsKeyID', 'test'],
      ['snapshotID', 'test'],
      ['throughput', 250],
      ['volumeType', 'io1'],
    ] as const
  ).map(([name, value]) => [name, disk({ ebs: { [name]: value } })] as const),
];
const marked = (at: number, title: string, ...marks: NonNullable<Look['marks']>): ConformanceCase =>
  same(at, title, drifts({ marks }));

const hashCases: readonly ConformanceCase[] = about('drift from the hash of the node class', [
  ...staticFields.map(([field, change], i) => changed(1127 + i, field, change, 'NodeClassDrift')),
  changed(1149, 'volumeSize', disk({ ebs: { volumeSize: '10G' } }), 'NodeClassDrift'),
  changed(1173, 'which images are selected', { amiFamily: 'AL2023', amiSelectorTerms: [selected] }),
  changed(1177, 'which subnets', { subnetSelectorTerms: [selected] }),
  changed(1178, 'which security groups', { securityGroupSelectorTerms: [selected] }),
  marked(1180, 'no drift of a claim without a hash', { [annotations.ec2NodeClassHashVersion]: 'v4' }, of('b', 'v4')),
  marked(1192, 'no drift between hashes of two versions', of('a', 'v1'), of('b', 'v2')),
  marked(1206, 'no drift where the node class has no hash version', of('a', 'v1'), of('b')),
  marked(1223, 'no drift of a claim without a hash version', of('a'), of('b', 'v1')),
]);

/** pkg/cloudprovider/suite_test.go, drift. */
export const driftCases: readonly ConformanceCase[] = [...resolvedCases, ...hashCases];
