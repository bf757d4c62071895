import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { driftOf, mayDrift, templateDrift } from './drift.js';

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
describe('templateDrift of a NodePool', () => {
  test.each([
    ['equal hashes', stamp('1'), stamp('1'), undefined],
    ['other hashes', stamp('1'), stamp('2'), 'NodePoolDrifted'],
    ['other versions', stamp('1', 'v3'), stamp('2'), undefined],
    ['no hash on the claim', {}, stamp('2'), undefined],
    ['no hash on the pool', stamp('1'), {}, undefined],
  ])('%s', (_name, claimed, wanted, expected) => {
    expect(templateDrift(claim(claimed), pool(wanted))).toBe(expected);
  });

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

/** What drift makes of a claim whose template is as it was, and of which the provider says nothing. */
const typeDrift = (of: ReturnType<typeof claim>, catalogue: readonly InstanceType[]): Promise<string | undefined> => {
  const sources = { pool: pool({}), catalogue: () => Promise.resolve(catalogue), provider: nothing };
  return driftOf(of, sources, now);
};
const nothing = (): Promise<undefined> => Promise.resolve(undefined);

// Rule `drift/when-it-is-detected`.
describe('driftOf a claim', () => {
  test('checks reasons in order, and stops at the first', async () => {
    const asked: string[] = [];
    const sources = {
      pool: pool(stamp('2')),
      catalogue: () => {
        asked.push('catalogue');
        return nothing();
      },
      provider: () => {
        asked.push('provider');
        return Promise.resolve('AMIDrift');
      },
    };
    expect(await driftOf(claim(stamp('1')), sources, now)).toBe('NodePoolDrifted');
    expect(asked).toEqual([]);
    expect(await driftOf(claim(stamp('2')), sources, now)).toBe('AMIDrift');
    expect(asked).toEqual(['catalogue', 'provider']);
  });

  test('is undefined for claims that are not launched or are being deleted', () => {
    const launched = { ...claim(), status: { conditions: [{ type: 'Launched', status: 'True' as const }] } };
    expect(mayDrift(launched)).toBe(true);
    expect(mayDrift(claim())).toBe(false);
    expect(
      mayDrift({ ...launched, metadata: { ...launched.metadata, deletionTimestamp: '2026-01-05T10:00:00Z' } }),
    ).toBe(false);
  });
});

// Rule `drift/type-not-found`.
describe('typeDrift of a claim', () => {
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
  ])('a type that is %s', async (_name, catalogue, claimLabels, expected) => {
    expect(await typeDrift(claim({ labels: claimLabels }), catalogue)).toBe(expected);
  });

  test('a claim younger than an hour has not drifted', async () => {
    expect(await typeDrift(claim({}, '2026-01-05T11:00:00Z'), [])).toBeUndefined();
    expect(await typeDrift(claim({}, '2026-01-05T10:59:59Z'), [])).toBe('InstanceTypeNotFound');
  });
});
