import { ec2NodeClasses } from '../../../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../../../api/aws/node-class-rules.js';
import { ec2NodeClassHash } from '../../../cloud/aws/node-class.js';
import { build, type Patch } from '../../integration/crd-case-helpers.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';

const disk = {
  deviceName: 'map-device-1',
  rootVolume: false,
  ebs: {
    ...{ deleteOnTermination: false, encrypted: false, iops: 3000, kmsKeyID: 'key', snapshotID: 'snap-1' },
    ...{ throughput: 125, volumeSize: '2G', volumeType: 'standard' },
  },
};
const disks = [disk, { deviceName: 'map-device-2', ebs: { volumeSize: '4G' } }];
const base: Patch = {
  'spec.tags': { 'keyTag-1': 'valueTag-1', 'keyTag-2': 'valueTag-2' },
  'spec.context': 'fake-context',
  'spec.detailedMonitoring': false,
  'spec.associatePublicIPAddress': false,
  'spec.metadataOptions': {
    ...{ httpEndpoint: 'disabled', httpProtocolIPv6: 'disabled' },
    ...{ httpPutResponseHopLimit: 1, httpTokens: 'optional' },
  },
  'spec.blockDeviceMappings': disks,
  'spec.userData': 'userdata-test-1',
};

function hashOf(changed: Patch): string {
  const { spec } = ec2NodeClasses.mustParse(build('EC2NodeClass', { ...base, ...changed }));
  return ec2NodeClassHash(spec, { amiFamily: resolvedAmiFamily(spec), caBundle: 'ca' });
}
/** Whether the hash is another with each of the changes. */
const changes = (expected: boolean, ...changed: readonly Patch[]): Check =>
  gives(
    () => changed.map((each) => hashOf(each) !== hashOf({})),
    changed.map(() => expected),
  );
const option = (name: string, value: unknown): Patch => ({
  'spec.metadataOptions': { ...(base['spec.metadataOptions'] as object), [name]: value },
});
const device = (more: object): Patch => ({ 'spec.blockDeviceMappings': [{ ...disk, ...more }, disks[1]] });
const ebs = (more: object): Patch => device({ ebs: { ...disk.ebs, ...more } });

/** Each field with what it is changed to, by the lines of the two tables of Karpenter. */
const fields: Readonly<Record<string, Patch>> = {
  userData: { 'spec.userData': 'userdata-test-2' },
  tags: { 'spec.tags': { 'keyTag-test-3': 'valueTag-test-3' } },
  context: { 'spec.context': 'context-2' },
  detailedMonitoring: { 'spec.detailedMonitoring': true },
  instanceStorePolicy: { 'spec.instanceStorePolicy': 'RAID0' },
  associatePublicIPAddress: { 'spec.associatePublicIPAddress': true },
  httpEndpoint: option('httpEndpoint', 'enabled'),
  httpProtocolIPv6: option('httpProtocolIPv6', 'enabled'),
  httpPutResponseHopLimit: option('httpPutResponseHopLimit', 10),
  httpTokens: option('httpTokens', 'required'),
  deviceName: device({ deviceName: 'map-device-test-3' }),
  rootVolume: device({ rootVolume: true }),
  deleteOnTermination: ebs({ deleteOnTermination: true }),
  encrypted: ebs({ encrypted: true }),
  iops: ebs({ iops: 3010 }),
  kmsKeyID: ebs({ kmsKeyID: 'test' }),
  snapshotID: ebs({ snapshotID: 'snap-2' }),
  throughput: ebs({ throughput: 130 }),
  volumeType: ebs({ volumeType: 'io1' }),
  tcpEstablishedTimeout: { 'spec.connectionTracking': { tcpEstablishedTimeout: 300 } },
  udpStreamTimeout: { 'spec.connectionTracking': { udpStreamTimeout: 120 } },
  udpTimeout: { 'spec.connectionTracking': { udpTimeout: 45 } },
  cpuOptions: { 'spec.cpuOptions': { nestedVirtualization: 'enabled' } },
};
const terms = [{ tags: { other: 'value' } }];
const profile = (name: string): Patch => ({ 'spec.role': undefined, 'spec.instanceProfile': name });
const kubelet = (maxPods: number): Patch => ({ 'spec.kubelet': { maxPods } });
const differ = (a: Patch, b: Patch, expected: boolean): Check => gives(() => hashOf(a) !== hashOf(b), expected);
const moved: Patch = { 'spec.blockDeviceMappings': [...disks].reverse() };
const sorted: Patch = { 'spec.tags': { 'keyTag-2': 'valueTag-2', 'keyTag-1': 'valueTag-1' } };

/** pkg/apis/v1/ec2nodeclass_hash_test.go */
export const nodeClassHashCases: readonly ConformanceCase[] = about('hash of a node class', [
  notApplicable(
    85,
    'the very text of a hash',
    "hashes have a version of their own, and Karpenter's are written anew (node-classes/hash)",
  ),
  ...Object.entries(fields).map(([name, changed], i) =>
    same([88 + i, 142 + i], `${name} changes the hash`, changes(true, changed)),
  ),
  same(
    113,
    'does not change with AMI selector terms',
    changes(false, { 'spec.amiSelectorTerms': terms, 'spec.amiFamily': 'AL2023' }),
  ),
  same(114, 'does not change with subnet selector terms', changes(false, { 'spec.subnetSelectorTerms': terms })),
  same(
    115,
    'does not change with security group selector terms',
    changes(false, { 'spec.securityGroupSelectorTerms': terms }),
  ),
  same([119, 168], 'changes with the size of a volume', changes(true, ebs({ volumeSize: '10G' }))),
  same(123, 'changes between role and instance profile', changes(true, profile('a'))),
  same([128, 182], 'does not change with the order of tags', changes(false, sorted)),
  same([132, 188], 'does not change with the order of block devices', changes(false, moved)),
  same(174, 'does not change with another instance profile', differ(profile('a'), profile('b'), true)),
  same(
    194,
    'does not change with any selector terms',
    changes(false, {
      'spec.subnetSelectorTerms': terms,
      'spec.securityGroupSelectorTerms': terms,
      'spec.capacityReservationSelectorTerms': terms,
    }),
  ),
  same(213, 'is the same for the same spec', changes(false, {})),
  same(219, 'changes with kubelet settings', differ(kubelet(110), kubelet(220), true)),
  same(228, 'does not change with the notation of quantities', differ(kubelet(12), kubelet(21), true)),
]);
