import { describe, expect, test } from '@jest/globals';
import type { InstanceType } from '../../core/instance-type.js';
import { nodePool } from '../../test/builders/activity-world.js';
import { whyNoInstanceType } from './pool-types.js';

const category = 'karpenter.k8s.aws/instance-category';

const type = (name: string, categories: readonly string[], available = true): InstanceType =>
  ({
    name,
    requirements: [{ key: category, operator: 'In', values: categories }],
    offerings: [
      {
        ...{ price: 1, available },
        requirements: [
          { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
        ],
      },
    ],
    ...{ capacity: {}, overhead: {} },
  }) as unknown as InstanceType;

const poolOf = (...requirements: readonly (readonly [string, string, string[]])[]) =>
  nodePool('default', {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: requirements.map(([key, operator, values]) => ({ key, operator, values })),
      },
    },
  });
const why = (pool: ReturnType<typeof poolOf>, types = [type('m5.large', ['m']), type('z1d.large', ['z'])]) =>
  whyNoInstanceType(pool, types, { wellKnownLabels: [category], minValuesPolicy: 'Strict' })?.why;

describe('a NodePool whose requirements no instance type satisfies (node-pools/instance-types-available)', () => {
  test('is reported with the key that excludes the types, and the value that was probably meant', () => {
    expect(why(poolOf([category, 'In', ['z9']]))).toBe(
      `none of 2 instance types has ${category} In [z9] (did you mean z?)`,
    );
    expect(why(poolOf([category, 'In', ['q']]))).toBe(
      `none of 2 instance types has ${category} In [q] (there are m, z)`,
    );
  });

  test('is reported with its contradicting requirements', () => {
    expect(why(poolOf([category, 'In', ['m']], [category, 'In', ['c']]))).toBe(
      `the requirements leave no value for ${category}: In [m] and In [c]`,
    );
  });

  test('is not reported where a type matches, even without capacity, nor for an empty catalogue', () => {
    expect(why(poolOf([category, 'In', ['m']]))).toBeUndefined();
    expect(why(poolOf([category, 'In', ['m']]), [type('m5.large', ['m'], false)])).toBeUndefined();
    expect(why(poolOf([category, 'In', ['z9']]), [])).toBeUndefined();
  });

  test('is reported with the minValues that the matching types do not have, unless minValues are relaxed', () => {
    const types = [type('m5.large', ['m']), type('m6.large', ['m']), type('z1d.large', ['z'])];
    const pool = poolOf([category, 'In', ['m']]);
    const { requirements } = pool.spec.template.spec;
    const asking = (minValues: number) => {
      const more = { key: category, operator: 'In' as const, values: ['m', 'z'], minValues };
      const spec = { ...pool.spec.template.spec, requirements: [...requirements, more] };
      return { ...pool, spec: { ...pool.spec, template: { ...pool.spec.template, spec } } };
    };
    const found = (minValues: number, minValuesPolicy: 'Strict' | 'BestEffort') =>
      whyNoInstanceType(asking(minValues), types, { wellKnownLabels: [category], minValuesPolicy });
    expect(found(2, 'Strict')).toEqual({
      why: `the instance types that its requirements allow have 1 different ${category}; minValues is 2`,
      byMinValues: true,
    });
    expect(found(2, 'BestEffort')).toBeUndefined();
    expect(found(1, 'Strict')).toBeUndefined();
  });

  test('is reported with the commonest reason where each type fails another requirement', () => {
    const pool = poolOf([category, 'In', ['m']], ['topology.kubernetes.io/zone', 'In', ['b']]);
    expect(why(pool)).toMatch(/^1 of 2 instance types lack /);
  });
});
