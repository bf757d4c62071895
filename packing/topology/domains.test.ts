import { describe, expect, test } from '@jest/globals';
import type { NodeSelectorRequirement, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, podsOf, zonesOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

const zone = labels.zone;
const zoneIn = (...values: string[]): NodeSelectorRequirement => ({ key: zone, operator: 'In', values });

const spread = (more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint[] => [
  {
    maxSkew: 1,
    topologyKey: zone,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'web' } },
    ...more,
  },
];

const web = (count: number, topologySpreadConstraints: TopologySpreadConstraint[], spec: Partial<PodSpec> = {}) =>
  podsOf(count, 'web', { labels: { app: 'web' }, topologySpreadConstraints, ...spec });

const only = (...zones: string[]) => [instanceType('m4', { cpu: 4, spot: 0, zones })];

describe('domains that a spread counts', () => {
  test('include those of nodes where nothing can be launched: once these are full, further pods wait', () => {
    const nodes = [node('old', { cpu: '1', zone: 'zone-x' })];
    const result = plan(packingInput({ pods: web(5, spread()), nodes }, { types: only('zone-a') }));
    expect(zonesOf(result, nodes)).toEqual({ 'zone-a': 2, 'zone-x': 1 });
    expect(result.unschedulable).toHaveLength(2);
  });

  test('exclude nodes whose taints the pods do not tolerate, under nodeTaintsPolicy Honor', () => {
    const taints = [{ key: 'apart', effect: 'NoSchedule' as const }];
    const nodes = [node('old', { zone: 'zone-x', taints })];
    const plans = (['Honor', 'Ignore'] as const).map((nodeTaintsPolicy) =>
      plan(packingInput({ pods: web(3, spread({ nodeTaintsPolicy })), nodes }, { types: only('zone-a') })),
    );
    expect(plans.map((each) => zonesOf(each, nodes))).toEqual([{ 'zone-a': 3 }, { 'zone-a': 1 }]);
  });

  test("are those that one of the node affinity's terms admits, unless nodeAffinityPolicy is Ignore", () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [zoneIn('zone-a')] }, { matchExpressions: [zoneIn('zone-b')] }],
        },
      },
    };
    const types = only('zone-a', 'zone-b', 'zone-c');
    const honoured = plan(packingInput({ pods: web(6, spread(), { affinity }) }, { types }));
    expect(zonesOf(honoured)).toEqual({ 'zone-a': 3, 'zone-b': 3 });
    const ignored = plan(
      packingInput({ pods: web(6, spread({ nodeAffinityPolicy: 'Ignore' }), { affinity }) }, { types }),
    );
    expect(zonesOf(ignored)).toEqual({ 'zone-a': 1, 'zone-b': 1 });
  });

  test('exclude a node without the label', () => {
    const labelled = node('bare');
    const others = Object.entries(labelled.metadata.labels ?? {}).filter(([key]) => key !== zone);
    const bare = { ...labelled, metadata: { ...labelled.metadata, labels: Object.fromEntries(others) } };
    const result = plan(packingInput({ pods: web(4, spread()), nodes: [bare] }, { types: only('zone-a', 'zone-b') }));
    expect(zonesOf(result, [bare])).toEqual({ 'zone-a': 2, 'zone-b': 2 });
  });

  test('below minDomains count as if one were empty', () => {
    const types = only('zone-a', 'zone-b', 'zone-c');
    const zones = (minDomains: number) =>
      zonesOf(plan(packingInput({ pods: web(6, spread({ minDomains })) }, { types })));
    expect(zones(3)).toEqual({ 'zone-a': 2, 'zone-b': 2, 'zone-c': 2 });
    expect(zones(4)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
  });
});

describe('anti-affinity of other pods', () => {
  const from = (app: string) => [{ labelSelector: { matchLabels: { app } }, topologyKey: zone }];

  test('keeps the pods that it selects away, where it is required', () => {
    const shy = podsOf(1, 'shy', {
      cpu: '3',
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: from('loud') } },
    });
    const loud = podsOf(4, 'loud', { cpu: '500m', labels: { app: 'loud' } });
    const types = [
      instanceType('cheap', { cpu: 16, price: 0.1, spot: 0, zones: ['zone-a'] }),
      instanceType('dear', { cpu: 16, price: 0.9, spot: 0, zones: ['zone-b'] }),
    ];
    const both = plan(packingInput({ pods: [...shy, ...loud] }, { types }));
    expect(both.newNodeClaims.map(({ pods }) => pods.length).sort()).toEqual([1, 4]);
    expect(Object.keys(zonesOf(both))).toEqual(['zone-a', 'zone-b']);
    const alone = plan(packingInput({ pods: [...shy, ...loud] }, { types: types.slice(0, 1) }));
    expect(alone.unschedulable.length).toBeGreaterThan(0);
  });

  test('does not keep them away where it is preferred', () => {
    const shy = podsOf(1, 'shy', {
      cpu: '3',
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: from('loud')[0]! }],
        },
      },
    });
    const loud = podsOf(4, 'loud', {
      cpu: '500m',
      labels: { app: 'loud' },
      nodeSelector: { [zone]: 'zone-a' },
      topologySpreadConstraints: spread({ labelSelector: { matchLabels: { app: 'loud' } } }),
    });
    const result = plan(packingInput({ pods: [...shy, ...loud] }, { types: only('zone-a') }));
    expect(result.unschedulable).toEqual([]);
  });
});
