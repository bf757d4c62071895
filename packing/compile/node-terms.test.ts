import { describe, expect, test } from '@jest/globals';
import type { NodeSelectorRequirement, PodSpec } from '../../api/kubernetes.js';
import { invalidTerm, preferredTerms, requiredTerms } from './node-terms.js';

const required = (...terms: NodeSelectorRequirement[][]): PodSpec => ({
  containers: [],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  },
});
const preferred = (...terms: NodeSelectorRequirement[]): PodSpec => ({
  containers: [],
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: terms.map((term) => ({
        weight: 1,
        preference: { matchExpressions: [term] },
      })),
    },
  },
});
const legal = { key: 'team', operator: 'In', values: ['red'] } as const;
const illegal = ['not a label!', 'x'.repeat(64), '-x'];

describe('node affinity values that no label can have', () => {
  test.each(illegal)('%j: a preferred term for it is dropped', (value) => {
    const terms = preferred({ key: 'team', operator: 'In', values: [value] }, { ...legal, values: ['red'] });

    expect(preferredTerms(terms)).toEqual(preferredTerms(preferred({ ...legal, values: ['red'] })));
  });

  test.each(illegal)('%j: it is dropped from In and NotIn beside other values, and excludes no node', (value) => {
    const some = preferred({ key: 'team', operator: 'In', values: [value, 'red'] });
    const not = preferred({ key: 'team', operator: 'NotIn', values: [value, 'red'] });

    expect(preferredTerms(some)).toEqual(preferredTerms(preferred({ ...legal, values: ['red'] })));
    expect(preferredTerms(not)).toEqual(preferredTerms(preferred({ key: 'team', operator: 'NotIn', values: ['red'] })));
    expect([...preferredTerms(preferred({ key: 'team', operator: 'NotIn', values: [value] }))[0]!]).toEqual([]);
  });

  test('a preferred Gt term whose value is no number is dropped', () => {
    expect(preferredTerms(preferred({ key: 'cpu', operator: 'Gt', values: ['many'] }))).toEqual([]);
  });

  test('a required term with it matches no node: other terms are tried, and without them the pod is reported', () => {
    const bad: NodeSelectorRequirement = { key: 'team', operator: 'In', values: ['not a label!'] };
    const alternatives = required([bad], [{ ...legal, values: ['red'] }]);

    expect(requiredTerms(alternatives)).toEqual(requiredTerms(required([{ ...legal, values: ['red'] }])));
    expect(invalidTerm(alternatives)).toBeUndefined();
    expect(invalidTerm(required([bad]))?.message).toBe(
      'team In ["not a label!"]: no node has it, because it is not a valid label value',
    );
  });
});
