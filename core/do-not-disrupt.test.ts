import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import {
  doNotDisruptUntil,
  isInvalidDoNotDisrupt,
  isNodeMarkedDoNotDisrupt,
  podMarkedDoNotDisrupt,
} from './do-not-disrupt.js';

const annotated = (own: Record<string, string>, startTime?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', annotations: own },
  spec: { containers: [] },
  status: startTime === undefined ? {} : { startTime },
});

describe('do-not-disrupt of pods (candidates/do-not-disrupt-pods)', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  const at = (value: string, startTime?: string) =>
    doNotDisruptUntil(annotated({ [annotations.doNotDisrupt]: value }, startTime), now);

  test('do-not-disrupt of a pod is true, a duration from its start, or ignored', () => {
    expect(at('true')).toBe(Infinity);
    expect(at('2h')).toBe(Infinity);
    expect(at('2h', '2026-01-01T00:00:00Z')).toBe(Date.parse('2026-01-01T02:00:00Z'));
    expect(at('30m', '2026-01-01T00:00:00Z')).toBeUndefined();
    for (const value of ['false', 'soon', '0s', '-1h']) expect(at(value)).toBeUndefined();
  });

  test('a do-not-disrupt pod blocks its node unless it has ended or is being deleted', () => {
    const marked = annotated({ [annotations.doNotDisrupt]: 'true' });
    const ended: Pod = { ...marked, status: { phase: 'Succeeded' } };
    const deleted: Pod = { ...marked, metadata: { ...marked.metadata, deletionTimestamp: '2026-01-01T00:59:00Z' } };
    expect(podMarkedDoNotDisrupt([annotated({}), ended, deleted], now)).toBeUndefined();
    expect(podMarkedDoNotDisrupt([annotated({}), ended, marked], now)).toBe(marked);
  });

  test('do-not-evict of a pod means the same as do-not-disrupt', () => {
    expect(doNotDisruptUntil(annotated({ [annotations.doNotEvict]: 'true' }), now)).toBe(Infinity);
  });
});

test.each([
  ['true', false],
  ['false', false],
  ['2h', false],
  ['soon', true],
  ['-1h', true],
])('do-not-disrupt: %s is invalid on a pod: %s', (value, expected) => {
  expect(isInvalidDoNotDisrupt(annotated({ [annotations.doNotDisrupt]: value }))).toBe(expected);
});

test('do-not-disrupt with a duration does not protect a node', () => {
  const node = (value: string) => ({ metadata: { annotations: { [annotations.doNotDisrupt]: value } } });
  expect(isNodeMarkedDoNotDisrupt(node('true'))).toBe(true);
  expect(isNodeMarkedDoNotDisrupt(node('2h'))).toBe(false);
  expect(isNodeMarkedDoNotDisrupt(undefined)).toBe(false);
});
