import { expect, test } from '@jest/globals';
import { formatPath, issue, showFound, valueAt } from './issues.js';

test('issues write a path as Kubernetes does', () => {
  expect(formatPath(['spec', 'requirements', 0, 'key'])).toBe('spec.requirements[0].key');
  expect(formatPath(['metadata', 'labels', 'example.com/team'])).toBe('metadata.labels[example.com/team]');
});

test('issues find a value by its path, or undefined', () => {
  const object = { spec: { taints: [{ key: 'a' }] } };

  expect(valueAt(object, ['spec', 'taints', 0, 'key'])).toBe('a');
  expect(valueAt(object, ['spec', 'taints', 1, 'key'])).toBeUndefined();
  expect(valueAt(object, ['spec', 'taints', 0, 'key', 'deeper'])).toBeUndefined();
});

test('issues show the found value shortened', () => {
  expect(showFound(undefined)).toBe('nothing');
  expect(showFound('a')).toBe('"a"');
  expect(showFound('a'.repeat(200))).toHaveLength(120);
});

test('an issue names the field, what was found and what is allowed', () => {
  expect(issue(['spec', 'weight'], 101, 'at most 100')).toEqual({
    path: 'spec.weight',
    found: 101,
    allowed: 'at most 100',
    message: 'spec.weight: found 101, allowed: at most 100',
    severity: 'error',
  });
  expect(issue(['spec'], 1, 'two', 'too few', 'warning').message).toBe('spec: too few (found 1), allowed: two');
  expect(issue(['spec'], 1, 'two', 'two').message).toBe('spec: two (found 1)');
});
