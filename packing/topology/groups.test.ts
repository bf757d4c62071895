import { describe, expect, test } from '@jest/globals';
import type { LabelSelector, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import { groupSelects, Groups, type Group } from './groups.js';
import { Namespaces } from './selectors.js';

const { zone, hostname } = labels;
const web: LabelSelector = { matchLabels: { app: 'web' } };
const fresh = (...keys: string[]): Groups => new Groups(keys, new Namespaces(undefined, []));

describe('topology identity: pods that no selector distinguishes', () => {
  test('have one identity, whatever other labels they have', () => {
    const groups = fresh('app');
    const one = groups.identity('default', { app: 'web', hash: 'x' });
    expect(groups.identity('default', { app: 'web', hash: 'y' })).toBe(one);
    expect(groups.identities).toEqual([one]);
    expect(one).toEqual({ index: 0, namespace: 'default', labels: { app: 'web', hash: 'x' } });
  });

  test.each<[string, [string, Record<string, string> | undefined], [string, Record<string, string> | undefined]]>([
    ['another value', ['default', { app: 'web' }], ['default', { app: 'db' }]],
    ['another namespace', ['default', { app: 'web' }], ['other', { app: 'web' }]],
    ['a label that is missing', ['default', { app: 'web' }], ['default', {}]],
    ['no labels at all', ['default', { app: 'web' }], ['default', undefined]],
    ['an empty value', ['default', { app: '' }], ['default', {}]],
    ['values of other keys', ['default', { app: 'x', tier: '' }], ['default', { app: '', tier: 'x' }]],
  ])('have different identities with %s', (_, left, right) => {
    const groups = fresh('app', 'tier');
    const both = [groups.identity(...left), groups.identity(...right)];
    expect(both.map(({ index }) => index)).toEqual([0, 1]);
    expect(groups.identities).toEqual(both);
  });
});

/** The groups that two pods have, each with one rule, in one pass. */
function groupsOf(...pods: Pod[]): readonly Group[] {
  const { book, compiled, rulesOf } = topologyOf(packingInput({ pods }));
  expect(book.groups.all.map(({ index }) => index)).toEqual(book.groups.all.map((_, i) => i));
  expect(compiled.classes.all.length).toBeLessThanOrEqual(pods.length);
  return pods.map((each) => {
    const rules = rulesOf(each);
    const own = [
      ...[...rules.spread, ...rules.hostSpread, ...rules.affinity],
      ...[...rules.hostAffinity, ...rules.antiAffinity, ...rules.hostAntiAffinity],
    ];
    expect(own).toHaveLength(1);
    return own[0]!;
  });
}

type Spread = Partial<TopologySpreadConstraint>;
const spreadPod = (name: string, spread: Spread, more: Parameters<typeof pod>[1] = {}): Pod =>
  pod(name, {
    labels: { app: 'web', hash: 'x' },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web, ...spread },
    ],
    ...more,
  });

type Kind = 'podAffinity' | 'podAntiAffinity';
const affinityPod = (name: string, kind: Kind, term: Partial<PodAffinityTerm>, namespace = 'default'): Pod =>
  pod(name, {
    namespace,
    labels: { app: 'web', hash: 'x' },
    affinity: {
      [kind]: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zone, labelSelector: web, ...term }],
      },
    },
  });

describe('a topology spread constraint', () => {
  test('is read with its defaults', () => {
    const [group] = groupsOf(spreadPod('a', {}));
    expect(group).toEqual({
      index: 0,
      kind: 'spread',
      key: zone,
      hostname: false,
      namespaces: ['default'],
      selector: web,
      maxSkew: 1,
      minDomains: 1,
      filter: undefined,
    });
  });

  test('counts nodes that its pods may be on: none for an empty required term', () => {
    const onTier = {
      terms: [expect.objectContaining({ requirements: new Map([['tier', expect.anything()]]) })],
      tolerations: undefined,
    };
    expect(groupsOf(spreadPod('a', {}, { nodeSelector: { tier: 'critical' } }))[0]!.filter).toEqual(onTier);
    const terms = [{ matchExpressions: [{ key: 'tier', operator: 'Exists' as const }] }, {}];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
    expect(groupsOf(spreadPod('b', {}, { affinity: { nodeAffinity } }))[0]!.filter).toEqual(onTier);
  });

  test('is read with all its fields', () => {
    const [group] = groupsOf(
      spreadPod('a', { maxSkew: 3, minDomains: 2, topologyKey: hostname, matchLabelKeys: ['hash'] }),
    );
    const selector = { ...web, matchExpressions: [{ key: 'hash', operator: 'In', values: ['x'] }] };
    expect(group).toMatchObject({ maxSkew: 3, minDomains: 2, key: hostname, hostname: true, selector });
  });

  test('is read with the current key for an old label', () => {
    const [old, current] = groupsOf(
      spreadPod('a', { topologyKey: 'failure-domain.beta.kubernetes.io/zone' }),
      spreadPod('b', {}),
    );
    expect(old).toBe(current);
  });

  test.each<[Spread, { terms: boolean; tolerations: boolean } | undefined]>([
    [{}, { terms: true, tolerations: false }],
    [{ nodeAffinityPolicy: 'Honor' }, { terms: true, tolerations: false }],
    [{ nodeAffinityPolicy: 'Ignore' }, undefined],
    [{ nodeAffinityPolicy: 'Ignore', nodeTaintsPolicy: 'Ignore' }, undefined],
    [{ nodeTaintsPolicy: 'Honor' }, { terms: true, tolerations: true }],
    [
      { nodeAffinityPolicy: 'Ignore', nodeTaintsPolicy: 'Honor' },
      { terms: false, tolerations: true },
    ],
  ])('with %j counts the nodes that these policies honour', (spread, expected) => {
    const tolerations = [{ key: 'apart', operator: 'Exists' as const }];
    const [group] = groupsOf(spreadPod('a', spread, { nodeSelector: { [zone]: 'zone-a' }, tolerations }));
    if (expected === undefined) expect(group!.filter).toBeUndefined();
    else {
      const { filter } = group!;
      expect(filter?.terms?.length).toBe(expected.terms ? 1 : undefined);
      expect(filter?.tolerations).toEqual(expected.tolerations ? tolerations : undefined);
    }
  });
});

// Rule `topology/rules`.
describe('equal topology rules are one group', () => {
  const inZones = (...zones: string[]): Pick<PodSpec, 'affinity'> => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: zones.map((value) => ({
            matchExpressions: [{ key: zone, operator: 'In', values: [value] }],
          })),
        },
      },
    },
  });
  const tolerant = { tolerations: [{ key: 'apart', operator: 'Exists' as const }] };
  test.each<[string, Pod, Pod, boolean]>([
    ['of pods that differ in size', spreadPod('a', {}), spreadPod('b', {}, { cpu: '2' }), true],
    ['but not with another skew', spreadPod('a', {}), spreadPod('b', { maxSkew: 2 }), false],
    ['but not with other minDomains', spreadPod('a', {}), spreadPod('b', { minDomains: 2 }), false],
    ['but not in another namespace', spreadPod('a', {}), spreadPod('b', {}, { namespace: 'other' }), false],
    ['but not with another selector', spreadPod('a', {}), spreadPod('b', { labelSelector: {} }), false],
    ['but not for other nodes', spreadPod('a', {}), spreadPod('b', {}, inZones('zone-a')), false],
    [
      'but not with one alternative less',
      spreadPod('a', {}, inZones('zone-a', 'zone-b')),
      spreadPod('b', {}, inZones('zone-a')),
      false,
    ],
    [
      'but not where node affinity is ignored',
      spreadPod('a', { nodeTaintsPolicy: 'Honor' }, { nodeSelector: { [zone]: 'zone-b' } }),
      spreadPod(
        'b',
        { nodeTaintsPolicy: 'Honor', nodeAffinityPolicy: 'Ignore' },
        { nodeSelector: { [zone]: 'zone-b' } },
      ),
      false,
    ],
    [
      'also where there is no node affinity to ignore',
      spreadPod('a', { nodeTaintsPolicy: 'Honor' }),
      spreadPod('b', { nodeTaintsPolicy: 'Honor', nodeAffinityPolicy: 'Ignore' }),
      true,
    ],
    [
      'but not where the own terms contradict each other',
      spreadPod('a', { nodeTaintsPolicy: 'Honor' }, { nodeSelector: { [zone]: 'zone-b' }, ...inZones('zone-a') }),
      spreadPod('b', { nodeTaintsPolicy: 'Honor', nodeAffinityPolicy: 'Ignore' }),
      false,
    ],
    ['whatever is tolerated, where taints are ignored', spreadPod('a', {}), spreadPod('b', {}, tolerant), true],
    [
      'but not with other tolerations where taints are honoured',
      spreadPod('a', { nodeTaintsPolicy: 'Honor' }),
      spreadPod('b', { nodeTaintsPolicy: 'Honor' }, tolerant),
      false,
    ],
    [
      'with one term between them',
      affinityPod('a', 'podAffinity', {}),
      affinityPod('b', 'podAffinity', { namespaces: ['default'] }, 'other'),
      true,
    ],
    ['but not of another kind', affinityPod('a', 'podAffinity', {}), affinityPod('b', 'podAntiAffinity', {}), false],
    ['and no spread is an affinity', affinityPod('a', 'podAffinity', {}), spreadPod('b', {}), false],
    [
      'but not for another key',
      affinityPod('a', 'podAffinity', {}),
      affinityPod('b', 'podAffinity', { topologyKey: hostname }),
      false,
    ],
  ])('%s', (_, left, right, same) => {
    const [one, other] = groupsOf(left, right);
    expect(one === other).toBe(same);
  });

  test('though a term is kept as written', () => {
    const [group] = groupsOf(
      affinityPod('a', 'podAntiAffinity', {
        namespaceSelector: {},
        matchLabelKeys: ['hash'],
        mismatchLabelKeys: ['app'],
      }),
    );
    expect(group).toEqual({
      index: 0,
      kind: 'antiAffinity',
      key: zone,
      hostname: false,
      namespaces: undefined,
      selector: {
        ...web,
        matchExpressions: [
          { key: 'hash', operator: 'In', values: ['x'] },
          { key: 'app', operator: 'NotIn', values: ['web'] },
        ],
      },
      maxSkew: 0,
      minDomains: 0,
      filter: undefined,
    });
  });
});

describe('topology groups that select a pod', () => {
  const own = (groups: Groups) => groups.identity('default', { app: 'web', tier: 'front' });
  const term = (groups: Groups, labelSelector: LabelSelector | undefined, more: Partial<PodAffinityTerm> = {}): Group =>
    groups.term(
      'affinity',
      { topologyKey: zone, ...(labelSelector === undefined ? {} : { labelSelector }), ...more },
      own(groups),
    );

  test.each<[string, LabelSelector | undefined, Partial<PodAffinityTerm>, boolean]>([
    ['by a label', web, {}, true],
    ['by two labels', { matchLabels: { app: 'web', tier: 'front' } }, {}, true],
    ['not when the second label differs', { matchLabels: { app: 'web', tier: 'back' } }, {}, false],
    ['not when the first label differs', { matchLabels: { app: 'db', tier: 'front' } }, {}, false],
    ['by an expression', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, {}, true],
    ['not by an expression that fails', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, {}, false],
    ['by label and expression', { ...web, matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }, {}, true],
    ['everything by an empty selector', {}, {}, true],
    ['nothing without a selector', undefined, {}, false],
    ['in another namespace only', web, { namespaces: ['other'] }, false],
    ['in every namespace', web, { namespaceSelector: {} }, true],
    ['in a list that has its own', web, { namespaces: ['default', 'other'] }, true],
  ])('%s', (_, selector, more, selected) => {
    const groups = fresh('app', 'tier');
    const group = term(groups, selector, more);
    expect(groups.matching(own(groups))).toEqual(selected ? [group] : []);
    expect(groupSelects(group, own(groups))).toBe(selected);
  });

  test('are all of those that select it, in order, each once', () => {
    const groups = fresh('app', 'tier');
    const any = term(groups, {});
    const first = term(groups, web);
    const second = term(groups, web, { topologyKey: hostname });
    const third = term(groups, { matchLabels: { tier: 'front', app: 'web' } });
    term(groups, { matchLabels: { app: 'db' } });
    expect(groups.matching(own(groups))).toEqual([any, first, second, third]);
    expect(groups.matching(groups.identity('default', undefined))).toEqual([any]);
  });

  test('include groups added later', () => {
    const groups = fresh('app', 'tier');
    const first = term(groups, web);
    expect(groups.matching(own(groups))).toEqual([first]);
    const second = term(groups, {});
    expect(groups.matching(own(groups))).toEqual([second, first]);
    expect(groups.matching(own(groups))).toBe(groups.matching(own(groups)));
  });
});
