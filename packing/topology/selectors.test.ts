import { describe, expect, test } from '@jest/globals';
import type { LabelSelector, Namespace, PodAffinityTerm } from '../../api/kubernetes.js';
import { chosenByAll, Namespaces, withLabelKeys, type Chosen } from './selectors.js';
import { selectorKeys } from '../compile/label-text.js';

const web: LabelSelector = { matchLabels: { app: 'web' } };
const only = (key: string, operator: 'In' | 'NotIn', ...values: string[]) => ({ key, operator, values });

describe('label keys that a selector reads', () => {
  test.each<[string, LabelSelector | undefined, string[]]>([
    ['none without a selector', undefined, []],
    ['none of an empty one', {}, []],
    ['those of labels', { matchLabels: { app: 'web', tier: 'front' } }, ['app', 'tier']],
    ['those of expressions', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, ['app']],
    ['both', { ...web, matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, ['app', 'tier']],
  ])('%s', (_, selector, expected) => {
    const keys = new Set(['before']);
    selectorKeys(selector, keys);
    expect([...keys]).toEqual(['before', ...expected]);
  });
});

describe('pods that all terms select', () => {
  const here = (selector: LabelSelector | undefined, ...namespaces: string[]): Chosen => ({
    selector,
    namespaces: namespaces.length === 0 ? undefined : namespaces,
  });
  const front: LabelSelector = { matchLabels: { tier: 'front' } };
  test.each<[string, Chosen[], Chosen]>([
    ['those of the only term', [here(web, 'a')], here(web, 'a')],
    ['those of equal terms', [here(web, 'a'), here(web, 'a')], here(web, 'a')],
    [
      'those with the labels of both',
      [here(web, 'a'), here(front, 'a')],
      here({ ...web, matchExpressions: [only('tier', 'In', 'front')] }, 'a'),
    ],
    [
      'those for whom the expressions of all hold',
      [
        here({ matchExpressions: [only('app', 'In', 'x', 'y')] }, 'a'),
        here({ ...front, matchExpressions: [only('app', 'NotIn', 'y')] }, 'a'),
        here(web, 'a'),
      ],
      here(
        {
          matchExpressions: [
            only('app', 'In', 'x', 'y'),
            only('tier', 'In', 'front'),
            only('app', 'NotIn', 'y'),
            only('app', 'In', 'web'),
          ],
        },
        'a',
      ),
    ],
    ['none where one selects none', [here(web, 'a'), here(undefined, 'a')], here(undefined, 'a')],
    ['none where the first selects none', [here(undefined, 'a'), here(web, 'a')], here(undefined, 'a')],
  ])('%s', (_, terms, expected) => {
    expect(chosenByAll(terms)).toEqual(expected);
  });

  test.each<[string, Chosen[], string[] | undefined]>([
    ['in the namespaces of both', [here(web, 'a', 'b'), here(front, 'b', 'c')], ['b']],
    ['in no namespace where they have none in common', [here(web, 'a'), here(front, 'b')], []],
    ['in those of one where the other is about all', [here(web), here(front, 'b')], ['b']],
    ['in those of the first where the other is about all', [here(web, 'a'), here(front)], ['a']],
    ['in all where all are about all', [here(web), here(front)], undefined],
  ])('%s', (_, terms, namespaces) => {
    expect(chosenByAll(terms).namespaces).toEqual(namespaces);
  });
});

describe('matchLabelKeys and mismatchLabelKeys', () => {
  const labels = { hash: 'x', tenant: 'a' };
  test.each<[string, string[] | undefined, string[] | undefined, LabelSelector['matchExpressions']]>([
    ['match narrows to the own value', ['hash'], undefined, [only('hash', 'In', 'x')]],
    ['mismatch narrows away from it', undefined, ['tenant'], [only('tenant', 'NotIn', 'a')]],
    ['both at once', ['hash'], ['tenant'], [only('hash', 'In', 'x'), only('tenant', 'NotIn', 'a')]],
    ['one for each key', ['hash', 'tenant'], [], [only('hash', 'In', 'x'), only('tenant', 'In', 'a')]],
    ['a key that the pod lacks is left out', ['other'], ['another'], []],
  ])('%s', (_, match, mismatch, expected) => {
    expect(withLabelKeys(web, labels, match, mismatch)).toEqual({ ...web, matchExpressions: expected });
  });

  test('are added after the expressions of the selector', () => {
    const selector: LabelSelector = { matchExpressions: [{ key: 'app', operator: 'Exists' }] };
    expect(withLabelKeys(selector, labels, ['hash'])).toEqual({
      matchExpressions: [{ key: 'app', operator: 'Exists' }, only('hash', 'In', 'x')],
    });
    expect(selector.matchExpressions).toHaveLength(1);
  });

  test('change nothing where they are empty, the pod has no labels, or there is no selector', () => {
    expect(withLabelKeys(web, labels, undefined)).toBe(web);
    expect(withLabelKeys(web, labels, [], [])).toBe(web);
    expect(withLabelKeys(web, undefined, ['hash'])).toEqual({ ...web, matchExpressions: [] });
    expect(withLabelKeys(undefined, labels, ['hash'], ['tenant'])).toBeUndefined();
  });
});

describe('namespaces of an affinity term', () => {
  const namespace = (name: string, labels?: Record<string, string>): Namespace => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
  });
  const all = new Namespaces(
    [namespace('prod-b', { stage: 'prod' }), namespace('prod-a', { stage: 'prod' }), namespace('dev')],
    ['mentioned', 'prod-a'],
  );
  const prod: LabelSelector = { matchLabels: { stage: 'prod' } };
  const named = (...names: string[]): LabelSelector => ({
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: names }],
  });
  test.each<[string, Partial<PodAffinityTerm>, string[] | undefined]>([
    ['the own one by default', {}, ['own']],
    ['the own one for an empty list', { namespaces: [] }, ['own']],
    ['those listed, sorted', { namespaces: ['z', 'a'] }, ['a', 'z']],
    ['those selected, sorted', { namespaceSelector: prod }, ['prod-a', 'prod-b']],
    [
      'those that label and expression select',
      {
        namespaceSelector: { ...prod, matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'Exists' }] },
      },
      ['prod-a', 'prod-b'],
    ],
    ['list and selector together', { namespaces: ['z'], namespaceSelector: prod }, ['prod-a', 'prod-b', 'z']],
    ['all of them for an empty selector', { namespaceSelector: {} }, undefined],
    ['all for one with empty parts', { namespaceSelector: { matchLabels: {}, matchExpressions: [] } }, undefined],
    ['all whatever is listed', { namespaces: ['z'], namespaceSelector: {} }, undefined],
    ['by name, as far as objects say', { namespaceSelector: named('dev', 'gone') }, ['dev']],
    ['by name, as far as pods mention them', { namespaceSelector: named('mentioned') }, ['mentioned']],
    ['none where nothing is selected', { namespaceSelector: { matchLabels: { stage: 'test' } } }, []],
  ])('%s', (_, term, expected) => {
    expect(all.of({ topologyKey: 'k', ...term }, 'own')).toEqual(expected);
  });

  test('are selected by labels, and each namespace has its name as a label', () => {
    const renamed = new Namespaces([namespace('a', { 'kubernetes.io/metadata.name': 'b' })], []);
    expect(renamed.of({ topologyKey: 'k', namespaceSelector: named('b') }, 'own')).toEqual(['a']);
    const none = new Namespaces(undefined, []);
    expect(none.of({ topologyKey: 'k', namespaceSelector: prod }, 'own')).toEqual([]);
  });
});
