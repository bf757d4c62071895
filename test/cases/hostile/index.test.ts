import { expect, test } from '@jest/globals';
import { customResourceOf } from '../../../api/crds.js';
import type { KubernetesObject, NodeSelectorTerm, Pod } from '../../../api/kubernetes.js';
import { labelValuePattern, qualifiedName } from '../../../api/schema/fields.js';
import { Random } from '../random.js';
import { hostileObjects } from './index.js';

const objects = hostileObjects(new Random(7), 3000);

test('hostileObjects gives the same objects for the same seed, each with a unique name', () => {
  expect(hostileObjects(new Random(7), 300)).toEqual(hostileObjects(new Random(7), 300));
  expect(new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name ?? ''}`)).size).toBe(objects.length);
});

test('every custom resource of hostileObjects passes its schema', () => {
  const refusals = new Set<string>();
  for (const object of objects) {
    const parsed = customResourceOf(object.apiVersion, object.kind)?.parse(object);
    if (parsed?.ok === false) for (const { message } of parsed.error) refusals.add(`${object.kind} ${message}`);
  }
  expect([...refusals].slice(0, 10)).toEqual([]);
});

const termsOf = ({ spec }: Pod): NodeSelectorTerm[] =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

test('hostileObjects have labels, selectors and terms that the API server accepts, and names within its bounds', () => {
  const keys = new Set<string>();
  const values = new Set<string>();
  const note = (map: Readonly<Record<string, string>> = {}): void => {
    for (const [key, value] of Object.entries(map)) {
      keys.add(key);
      values.add(value);
    }
  };
  for (const object of objects) {
    note(object.metadata.labels);
    Object.keys(object.metadata.annotations ?? {}).forEach((key) => keys.add(key));
    expect(annotationBytes(object)).toBeLessThan(256 * 1024);
    expect(object.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    if (object.kind !== 'Pod') continue;
    note((object as Pod).spec.nodeSelector);
    for (const { matchExpressions = [] } of termsOf(object as Pod)) {
      for (const { key, operator, values: found = [] } of matchExpressions) {
        keys.add(key);
        if (operator === 'In' || operator === 'NotIn') found.forEach((value) => values.add(value));
      }
    }
  }
  expect([...keys].filter((key) => !qualifiedName.test(key))).toEqual([]);
  expect([...values].filter((value) => !labelValuePattern.test(value) || value.length > 63)).toEqual([]);
});

const annotationBytes = ({ metadata }: KubernetesObject): number =>
  Object.entries(metadata.annotations ?? {}).reduce((sum, each) => sum + Buffer.byteLength(each.join('')), 0);
