import { describe, expect, test } from '@jest/globals';
import { type EC2NodeClassStatus, ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { conditionOf } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';
import { ec2NodeClass } from '../../test/builders/aws-world.js';
import { ec2NodeClassHash, NodeClassResolver } from './node-class.js';

function classHash(patch: Patch, caBundle?: string): string {
  const { spec: parsed } = ec2NodeClasses.mustParse(build('EC2NodeClass', patch));
  return ec2NodeClassHash(parsed, { amiFamily: resolvedAmiFamily(parsed), caBundle });
}

// Rule `node-classes/hash`.
describe('ec2NodeClassHash', () => {
  test.each<[string, Patch]>([
    ['role', { 'spec.role': 'other' }],
    ['userData', { 'spec.userData': 'echo' }],
    ['tags', { 'spec.tags': { team: 'red' } }],
    ['kubelet', { 'spec.kubelet': { maxPods: 10 } }],
    ['a public address forbidden', { 'spec.associatePublicIPAddress': false }],
    ['metadataOptions', { 'spec.metadataOptions.httpTokens': 'optional' }],
    ['placementGroupSelector', { 'spec.placementGroupSelector': { name: 'spread' } }],
    ['blockDeviceMappings', { 'spec.blockDeviceMappings': [{ ebs: { volumeSize: '20Gi' } }] }],
    ['the family of the alias', { 'spec.amiSelectorTerms': [{ alias: 'al2@latest' }] }],
  ])('changes with %s', (_what, patch) => {
    expect(classHash(patch)).not.toBe(classHash({}));
  });

  test.each<[string, Patch]>([
    ['subnetSelectorTerms', { 'spec.subnetSelectorTerms': [{ id: 'subnet-1' }] }],
    ['securityGroupSelectorTerms', { 'spec.securityGroupSelectorTerms': [{ id: 'sg-1' }] }],
    ['capacityReservationSelectorTerms', { 'spec.capacityReservationSelectorTerms': [{ id: 'cr-1' }] }],
    ['the version of the alias', { 'spec.amiSelectorTerms': [{ alias: 'al2023@v20240625' }] }],
    ['ipPrefixCount', { 'spec.ipPrefixCount': 2 }],
    ['amiFamily naming what the alias implies (node-classes/family-in-effect)', { 'spec.amiFamily': 'AL2023' }],
    ['no tags', { 'spec.tags': {} }],
    ['defaults written out', { 'spec.metadataOptions': { httpTokens: 'required' } }],
  ])('does not change with %s', (_what, patch) => {
    expect(classHash(patch)).toBe(classHash({}));
  });

  test('the hash of a node class changes with the CA bundle', () => {
    expect(classHash({}, 'bundle')).not.toBe(classHash({}));
  });

  test('the hash of a node class ignores the order of devices, and an absent rootVolume counts as false', () => {
    const devices = [{ deviceName: '/dev/xvda', rootVolume: true }, { deviceName: '/dev/xvdb' }];
    const same = [
      { deviceName: '/dev/xvdb', rootVolume: false },
      { deviceName: '/dev/xvda', rootVolume: true },
    ];

    expect(classHash({ 'spec.blockDeviceMappings': devices })).toBe(classHash({ 'spec.blockDeviceMappings': same }));
  });

  test('the hash of a node class stays the same from release to release', () => {
    expect(classHash({ 'spec.tags': { team: 'red' }, 'spec.kubelet': { maxPods: 10 } })).toBe('2d34c57ca04958e3');
  });
});

// Rule `node-classes/ready`.
test('while EC2 does not answer, what was resolved keeps a node class Ready, and no changed one', async () => {
  const answers = { subnets: () => Promise.resolve([{ id: 'subnet-1', zone: 'a' }]) };
  const resolver = new NodeClassResolver({
    calls: { describeSecurityGroups: () => Promise.resolve({ SecurityGroups: [{ GroupId: 'sg-1' }] }) },
    subnets: { find: () => answers.subnets() },
    images: { resolve: () => Promise.resolve([{ id: 'ami-1', requirements: [] }]) },
    profiles: { resolve: () => Promise.resolve('profile') },
    facts: { get: () => Promise.resolve({ serviceCidr: '10.100.0.0/16' }) },
    clock: { now: () => 0 },
    reservedCapacity: false,
  } as unknown as ConstructorParameters<typeof NodeClassResolver>[0]);
  let status: EC2NodeClassStatus = {};
  const ready = async (generation: number): Promise<string | undefined> => {
    const { metadata, ...given } = ec2NodeClass();
    ({ status } = (await resolver.resolve({ ...given, metadata: { ...metadata, generation }, status })) as {
      status: EC2NodeClassStatus;
    });
    return conditionOf(status.conditions, 'Ready')?.status;
  };
  expect(await ready(1)).toBe('True');
  answers.subnets = () => Promise.reject(new DomainError('Throttled', 'ec2:DescribeSubnets: slow down'));
  expect(await ready(1)).toBe('True');
  expect(await ready(2)).toBe('Unknown');
  expect(status.subnets).toEqual([{ id: 'subnet-1', zone: 'a' }]);
  answers.subnets = () => Promise.resolve([{ id: 'subnet-2', zone: 'a' }]);
  expect(await ready(2)).toBe('True');
});
