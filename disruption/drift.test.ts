import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../api/labels.js';
import type { InstanceType } from '../core/instance-type.js';
import { nodeClaim, nodePool } from '../test/builders/activity-world.js';
import { templateDrift, typeDrift } from './drift.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const stamp = (hash: string, version = 'v') => ({
  annotations: { [annotations.nodePoolHash]: hash, [annotations.nodePoolHashVersion]: version },
});
const own = {
  [labels.zone]: 'a',
  [labels.capacityType]: 'spot',
  [labels.instanceType]: 'm5.large',
  [labels.arch]: 'amd64',
};
const claim = (metadata: object = {}, age = '2026-01-05T10:00:00Z') => {
  const base = nodeClaim('c');
  return { ...base, metadata: { ...base.metadata, labels: own, creationTimestamp: age, ...metadata } };
};
const pool = (metadata: object, requirements: readonly object[] = []) => {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const base = nodePool('default', { template: { spec: { requirements, nodeClassRef } } });
  return { ...base, metadata: { ...base.metadata, ...metadata } };
};

// Rule `drift/template`.
describe('templateDrift', () => {
  // 90: hash versions differing, then no NodePoolDrifted.
  test.each([
    ['equal hashes', stamp('1'), stamp('1'), undefined],
    ['other hashes', stamp('1'), stamp('2'), 'NodePoolDrifted'],
    ['other versions', stamp('1', 'v3'), stamp('2'), undefined],
    ['no hash on the claim', {}, stamp('2'), undefined],
    ['no hash on the pool', stamp('1'), {}, undefined],
  ])('%s', (_name, claimed, wanted, expected) => {
    expect(templateDrift(claim(claimed), pool(wanted))).toBe(expected);
  });

  // 90: Given requirements changed to exclude the node's zone, then RequirementsDrifted.
  test.each([
    [{ key: labels.zone, operator: 'In', values: ['a', 'b'] }, undefined],
    [{ key: labels.zone, operator: 'In', values: ['b'] }, 'RequirementsDrifted'],
    [{ key: labels.zone, operator: 'NotIn', values: ['a'] }, 'RequirementsDrifted'],
    [{ key: 'example.com/team', operator: 'Exists', values: [] }, 'RequirementsDrifted'],
    [{ key: 'example.com/team', operator: 'DoesNotExist', values: [] }, undefined],
    [{ key: 'example.com/team', operator: 'NotIn', values: ['x'] }, undefined],
  ])('requirement %j', (requirement, expected) => {
    expect(templateDrift(claim(), pool({}, [requirement]))).toBe(expected);
  });
});

// Rule `drift/type-not-found`.
describe('typeDrift', () => {
  const type = (
    name: string,
    ...offerings: [zone: string, capacityType: string, available?: boolean][]
  ): InstanceType => ({
    name,
    requirements: [],
    offerings: offerings.map(([zone, capacityType, available = true]) => ({
      requirements: [
        { key: labels.zone, operator: 'In', values: [zone] },
        { key: labels.capacityType, operator: 'In', values: [capacityType] },
      ],
      price: 1,
      available,
    })),
    capacity: {},
    overhead: {},
  });

  test.each<[string, readonly InstanceType[], object, string | undefined]>([
    ['offered', [type('m5.large', ['a', 'spot'])], own, undefined],
    ['out of capacity', [type('m5.large', ['a', 'spot', false])], own, undefined],
    ['gone from the catalogue', [type('m5.xlarge', ['a', 'spot'])], own, 'InstanceTypeNotFound'],
    ['in another zone only', [type('m5.large', ['b', 'spot'])], own, 'InstanceTypeNotFound'],
    ['of another capacity type only', [type('m5.large', ['a', 'on-demand'])], own, 'InstanceTypeNotFound'],
    [
      'reserved, had on demand',
      [type('m5.large', ['a', 'on-demand'])],
      { ...own, [labels.capacityType]: 'reserved' },
      undefined,
    ],
  ])('a type that is %s', (_name, catalogue, claimLabels, expected) => {
    expect(typeDrift(claim({ labels: claimLabels }), catalogue, now)).toBe(expected);
  });

  test('a claim younger than an hour passes', () => {
    expect(typeDrift(claim({}, '2026-01-05T11:00:00Z'), [], now)).toBeUndefined();
    expect(typeDrift(claim({}, '2026-01-05T10:59:59Z'), [], now)).toBe('InstanceTypeNotFound');
  });
});
