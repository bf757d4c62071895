import { describe, expect, test } from '@jest/globals';
import { ec2NodeClasses } from '../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../api/aws/node-class-rules.js';
import { nodePools } from '../api/karpenter/node-pool.js';
import { build, type Patch } from '../test/integration/crd-case-helpers.js';
import { ec2NodeClassHash, hashDrifted, migratedStamp, nodePoolHash } from './drift-hash.js';

const spec = 'spec.template.spec';
const poolHash = (patch: Patch): string => nodePoolHash(nodePools.mustParse(build('NodePool', patch)).spec.template);

const taints = [
  { key: 'a', effect: 'NoSchedule' },
  { key: 'b', value: 'x', effect: 'NoSchedule' },
];

// Rule `node-pools/template-hash`.
describe('nodePoolHash', () => {
  test.each<[string, Patch]>([
    ['labels', { 'spec.template.metadata.labels': { team: 'red' } }],
    ['a label with no value', { 'spec.template.metadata.labels': { team: '' } }],
    ['annotations', { 'spec.template.metadata.annotations': { note: 'x' } }],
    ['taints', { [`${spec}.taints`]: taints }],
    ['startupTaints', { [`${spec}.startupTaints`]: taints }],
    ['nodeClassRef', { [`${spec}.nodeClassRef.name`]: 'other' }],
    ['terminationGracePeriod', { [`${spec}.terminationGracePeriod`]: '1h' }],
    ['expireAfter', { [`${spec}.expireAfter`]: '1h' }],
    ['expireAfter Never', { [`${spec}.expireAfter`]: 'Never' }],
  ])('changes with %s', (_what, patch) => {
    expect(poolHash(patch)).not.toBe(poolHash({}));
  });

  test.each<[string, Patch]>([
    ['requirements', { [`${spec}.requirements`]: [] }],
    ['disruption', { 'spec.disruption.consolidateAfter': '1h' }],
    ['limits and weight', { 'spec.limits': { cpu: '1' }, 'spec.weight': 10 }],
    ['empty lists and maps', { [`${spec}.taints`]: [], 'spec.template.metadata': { labels: {} } }],
    ['the default written out', { [`${spec}.expireAfter`]: '720h' }],
    ['another way to write a duration', { [`${spec}.expireAfter`]: '43200m' }],
  ])('does not change with %s', (_what, patch) => {
    expect(poolHash(patch)).toBe(poolHash({}));
  });

  test('takes lists as sets and maps in any order', () => {
    expect(poolHash({ [`${spec}.taints`]: taints })).toBe(poolHash({ [`${spec}.taints`]: taints.toReversed() }));
    expect(poolHash({ 'spec.template.metadata.labels': { a: '1', b: '2' } })).toBe(
      poolHash({ 'spec.template.metadata.labels': { b: '2', a: '1' } }),
    );
    expect(poolHash({ [`${spec}.taints`]: taints })).not.toBe(poolHash({ [`${spec}.startupTaints`]: taints }));
  });

  test('stays the same from release to release', () => {
    expect(poolHash({ [`${spec}.taints`]: taints, 'spec.template.metadata.labels': { team: 'red' } })).toBe(
      '678ebaca65490f6d',
    );
  });
});

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

  test('changes with the CA bundle', () => {
    expect(classHash({}, 'bundle')).not.toBe(classHash({}));
  });

  test('takes devices in any order, and no rootVolume as false', () => {
    const devices = [{ deviceName: '/dev/xvda', rootVolume: true }, { deviceName: '/dev/xvdb' }];
    const same = [
      { deviceName: '/dev/xvdb', rootVolume: false },
      { deviceName: '/dev/xvda', rootVolume: true },
    ];

    expect(classHash({ 'spec.blockDeviceMappings': devices })).toBe(classHash({ 'spec.blockDeviceMappings': same }));
  });

  test('stays the same from release to release', () => {
    expect(classHash({ 'spec.tags': { team: 'red' }, 'spec.kubelet': { maxPods: 10 } })).toBe('2d34c57ca04958e3');
  });
});

// Rule `drift/hashes`.
describe('hashDrifted', () => {
  const current = { hash: 'b', version: 'v2' };

  test.each([
    [{ hash: 'a', version: 'v2' }, true],
    [{ hash: 'b', version: 'v2' }, false],
    [{ hash: 'a', version: 'v1' }, false],
    [{ hash: undefined, version: 'v2' }, false],
    [{ hash: 'a', version: undefined }, false],
  ])('of %j', (claim, drifted) => {
    expect(hashDrifted(claim, current)).toBe(drifted);
  });

  test('never where the pool has no hash yet', () => {
    expect(hashDrifted({ hash: 'a', version: 'v2' }, { hash: undefined, version: 'v2' })).toBe(false);
  });
});

// Rule `node-pools/hash-version`.
describe('migratedStamp', () => {
  const current = { hash: 'b', version: 'stowage-v1' };

  test('of a claim of Karpenter', () => {
    expect(migratedStamp({ hash: 'a', version: 'v3' }, current, false)).toEqual(current);
    expect(migratedStamp({ hash: 'a', version: 'v3' }, current, true)).toEqual({ hash: 'a', version: 'stowage-v1' });
  });

  test('of a claim that is up to date', () => {
    expect(migratedStamp({ hash: 'a', version: 'stowage-v1' }, current, false)).toBeUndefined();
  });
});
