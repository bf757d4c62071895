import { expect, test } from '@jest/globals';
import { countedValues } from './min-values.js';

const zones = { key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: ['a', 'b', 'c'] };
const all = (): boolean => true;

test('only values that the requirement allows count (min-values/counted)', () => {
  expect(countedValues([zones], zones.key, (value) => value !== 'b')).toEqual(['a', 'c']);
});

test('values of other keys, and keys that a type only lacks, do not count (min-values/counted)', () => {
  expect(countedValues([zones, { key: 'gpu', operator: 'DoesNotExist' }], 'gpu', all)).toEqual([]);
});

test('a key counts under its older name (labels/aliases)', () => {
  expect(countedValues([zones], 'failure-domain.beta.kubernetes.io/zone', all)).toEqual(['a', 'b', 'c']);
});
