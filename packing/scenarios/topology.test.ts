import { describe, expect, test } from '@jest/globals';
import type { LabelSelector, PodAffinityTerm, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod, podsOf, pool, zonesOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const app = (name: string): LabelSelector => ({ matchLabels: { app: name } });
const spread = (
  more: Partial<TopologySpreadConstraint> = {},
): { topologySpreadConstraints: TopologySpreadConstraint[] } => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: app('x'), ...more },
  ],
});
const affinityTo = (name: string, topologyKey: string = labels.zone, more: Partial<PodAffinityTerm> = {}) => ({
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: app(name), ...more }],
    },
  },
});
const awayFrom = (name: string, topologyKey: string = labels.zone, more: Partial<PodAffinityTerm> = {}) => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: app(name), ...more }],
    },
  },
});
const x = { labels: { app: 'x' } };
const running = (name: string, nodeName: string) => pod(name, { ...x, cpu: '100m', nodeName });
const sizesOf = (result: Plan): number[] => result.newNodeClaims.map(({ pods }) => pods.length).sort();
const full = (name: string, zone: string) => node(name, { zone, cpu: '100m' });

describe('topology spread', () => {
  test('pods are balanced over the zones', () => {
    expect(zonesOf(plan(packingInput({ pods: podsOf(7, 'p', { ...x, ...spread() }) })))).toEqual({
      'zone-a': 3,
      'zone-b': 2,
      'zone-c': 2,
    });
  });

  test.each(['first', 'second'])('zones count the same though every NodePool has another catalogue: %s', (name) => {
    const zones = ['zone-a', 'zone-b', 'zone-c'];
    const types = () => [instanceType('t', { cpu: 8, zones })];
    const catalogues = new Map([
      ['first', types()],
      ['second', types()],
    ]);
    const chosen = { ...x, ...spread(), nodeSelector: { [labels.nodePool]: name } };
    const result = plan(
      packingInput({ pods: podsOf(3, 'p', chosen), nodePools: [pool('first'), pool('second')] }, { catalogues }),
    );
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
    for (const { cheapest, requirements } of result.newNodeClaims) {
      expect(requirements).toContainEqual({ key: labels.zone, operator: 'In', values: [cheapest.zone] });
    }
    expect(new Set(result.newNodeClaims.map(({ cheapest }) => cheapest.zone))).toEqual(new Set(zones));
  });

  test('with zones at 1/1/0 the next pod goes to the empty one (topology/spread)', () => {
    const nodes = [full('a', 'zone-a'), full('b', 'zone-b')];
    const pods = [running('r1', 'a'), running('r2', 'b'), pod('p', { ...x, ...spread() })];
    expect(zonesOf(plan(packingInput({ pods, nodes })))).toEqual({ 'zone-c': 1 });
  });

  test('an existing node is used only as far as the skew allows', () => {
    const nodes = [node('a', { zone: 'zone-a', cpu: '32' })];
    const result = plan(packingInput({ pods: podsOf(6, 'p', { ...x, ...spread() }), nodes }));
    expect(zonesOf(result, nodes)).toEqual({ 'zone-a': 2, 'zone-b': 2, 'zone-c': 2 });
    expect(result.existingNodes).toEqual([{ node: 'a', pods: ['default/p-0', 'default/p-3'] }]);
  });

  test('a larger maxSkew allows more pods where it is cheap', () => {
    const types = [
      instanceType('cheap', { cpu: 1, zones: ['zone-a'], price: 0.05 }),
      instanceType('dear', { cpu: 1, zones: ['zone-a', 'zone-b'], price: 0.1 }),
    ];
    const result = plan(packingInput({ pods: podsOf(4, 'p', { ...x, ...spread({ maxSkew: 2 }) }) }, { types }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 3, 'zone-b': 1 });
  });

  test('unmet minDomains leave the rest pending, with the reason (topology/min-domains)', () => {
    const types = [instanceType('t', { cpu: 8, zones: ['zone-a', 'zone-b'] })];
    const result = plan(packingInput({ pods: podsOf(5, 'p', { ...x, ...spread({ minDomains: 3 }) }) }, { types }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1 });
    expect(result.unschedulable).toHaveLength(3);
    expect(result.unschedulable[0]!.blockers[0]).toEqual({
      nodePool: 'default',
      reason: 'Topology',
      subject: labels.zone,
      message: `spreading over ${labels.zone} with a skew of 1 has no room (zone-a: 1, zone-b: 1; minDomains asks for 3 domains)`,
    });
  });

  const inTwoZones = {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: labels.zone, operator: 'In' as const, values: ['zone-a', 'zone-b'] }] },
          ],
        },
      },
    },
  };

  test('zones that the pod may not use do not count as empty, unless nodeAffinityPolicy is Ignore (topology/counted-domains)', () => {
    const honoured = plan(packingInput({ pods: podsOf(4, 'p', { ...x, ...inTwoZones, ...spread() }) }));
    expect(zonesOf(honoured)).toEqual({ 'zone-a': 2, 'zone-b': 2 });
    const ignored = podsOf(4, 'p', { ...x, ...inTwoZones, ...spread({ nodeAffinityPolicy: 'Ignore' }) });
    expect(zonesOf(plan(packingInput({ pods: ignored })))).toEqual({ 'zone-a': 1, 'zone-b': 1 });
  });

  test.each([
    ['node affinity', { nodeSelector: { tier: 'plain' } }, {}],
    ['taints', {}, { nodeAffinityPolicy: 'Ignore' as const, nodeTaintsPolicy: 'Honor' as const }],
  ])(
    'pods of the pass on nodes that a spread excludes by %s do not count for it (topology/counted-domains)',
    (_, own, policy) => {
      const nodePools = [
        pool('plain', { labels: { tier: 'plain' } }),
        pool('apart', { labels: { tier: 'apart' }, taints: [{ key: 'apart', effect: 'NoSchedule' }] }),
      ];
      const toApart = {
        nodeSelector: { [labels.zone]: 'zone-c', tier: 'apart' },
        tolerations: [{ key: 'apart', operator: 'Exists' as const }],
      };
      const apart = podsOf(4, 'apart', { ...x, ...toApart, cpu: '3' });
      const spreading = podsOf(4, 'p', { ...x, ...own, ...spread(policy) });
      const result = plan(packingInput({ pods: [...apart, ...spreading], nodePools }));
      const plain = result.newNodeClaims.filter(({ nodePool }) => nodePool === 'plain');
      expect(Object.values(zonesOf({ ...result, newNodeClaims: plain })).sort()).toEqual([1, 1, 2]);
      expect(plain.flatMap(({ pods }) => pods)).toHaveLength(4);
    },
  );

  test("a node's labels are decided where a spread's count depends on them (topology/counted-domains)", () => {
    const spreading = podsOf(3, 'p', { ...x, ...spread(), nodeSelector: { [labels.capacityType]: 'on-demand' } });
    const others = podsOf(2, 'other', { ...x, cpu: '100m' });
    const { newNodeClaims } = plan(packingInput({ pods: [...others, ...spreading] }));
    const theirs = newNodeClaims.filter(({ pods }) => pods.includes('default/other-0'));
    expect(theirs).toHaveLength(1);
    for (const key of [labels.zone, labels.capacityType]) {
      expect(theirs[0]!.requirements.find((each) => each.key === key)?.values).toHaveLength(1);
    }
  });

  test('domains of a NodePool that the pod does not tolerate count only under nodeTaintsPolicy Ignore (topology/counted-domains)', () => {
    const nodePools = [
      pool('default', { requirements: [{ key: labels.zone, operator: 'In', values: ['zone-a', 'zone-b'] }] }),
      pool('tainted', {
        requirements: [{ key: labels.zone, operator: 'In', values: ['zone-c'] }],
        taints: [{ key: 'k', effect: 'NoSchedule' }],
      }),
    ];
    const run = (nodeTaintsPolicy: 'Honor' | 'Ignore') =>
      zonesOf(plan(packingInput({ pods: podsOf(4, 'p', { ...x, ...spread({ nodeTaintsPolicy }) }), nodePools })));
    expect(run('Honor')).toEqual({ 'zone-a': 2, 'zone-b': 2 });
    expect(run('Ignore')).toEqual({ 'zone-a': 1, 'zone-b': 1 });
  });

  test('pods with affinity to their like are placed though other pods could take every domain first', () => {
    const shy = podsOf(3, 'shy', {
      labels: { app: 'shy' },
      ...awayFrom('x'),
      ...spread({ labelSelector: app('shy') }),
    });
    const like = podsOf(4, 'like', { ...x, cpu: '2', ...affinityTo('x') });
    const result = plan(packingInput({ pods: [...shy, ...like] }));
    const placed = result.newNodeClaims.flatMap(({ pods }) => pods);
    expect(placed.filter((name) => name.includes('like'))).toHaveLength(4);
    expect(result.unschedulable.length).toBeLessThanOrEqual(1);
  });

  test('pods of several kinds that share a node are together no more than a spread over hosts allows', () => {
    const { affinity } = affinityTo('leader', labels.hostname);
    const followers = ['red', 'blue'].flatMap((team) =>
      podsOf(3, team, {
        labels: { app: 'x', team },
        affinity,
        ...spread({ topologyKey: labels.hostname, maxSkew: 4 }),
      }),
    );
    const other = pod('other', {
      labels: { team: 'red' },
      ...spread({ labelSelector: { matchLabels: { team: 'red' } } }),
    });
    const leader = pod('leader', { labels: { app: 'leader' } });
    const result = plan(packingInput({ pods: [leader, ...followers, other] }));
    const followed = result.newNodeClaims.find(({ pods }) => pods.includes('default/leader'))!;
    expect(followed.pods.filter((name) => /red|blue/.test(name))).toHaveLength(4);
    expect(result.unschedulable).toHaveLength(2);
  });

  test('pods that share a node are no more than a spread over zones allows in its zone', () => {
    const { affinity } = affinityTo('x', labels.hostname);
    const pods = podsOf(5, 'p', { ...x, affinity, ...spread({ maxSkew: 2 }) });
    const result = plan(packingInput({ pods }));
    expect(sizesOf(result)).toEqual([2]);
    expect(result.unschedulable).toHaveLength(3);
  });

  test('revisions spread separately with matchLabelKeys (topology/match-label-keys)', () => {
    const revision = (hash: string, count: number) =>
      podsOf(count, hash, {
        labels: { app: 'x', 'pod-template-hash': hash },
        ...spread({ matchLabelKeys: ['pod-template-hash'] }),
      });
    const nodes = [full('a', 'zone-a')];
    const old = pod('old', { labels: { app: 'x', 'pod-template-hash': '1' }, cpu: '100m', nodeName: 'a' });
    const result = plan(packingInput({ pods: [old, ...revision('2', 3)], nodes }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
  });

  test('a constraint without a selector selects nothing even with matchLabelKeys', () => {
    const constraint: TopologySpreadConstraint = {
      maxSkew: 1,
      topologyKey: labels.zone,
      whenUnsatisfiable: 'DoNotSchedule',
      matchLabelKeys: ['app'],
    };
    const pods = podsOf(3, 'p', { ...x, topologySpreadConstraints: [constraint] });
    expect(plan(packingInput({ pods })).unschedulable).toEqual([]);
  });

  test('pods that a spread selects without having it are balanced too, since pods with it depend on them', () => {
    // Of fewer pods other plans are searched, which hold in whatever order pods are bound (topology/any-binding-order).
    const pods = [...podsOf(300, 'plain', x), ...podsOf(150, 'ruled', { ...x, ...spread() })];
    expect(zonesOf(plan(packingInput({ pods })))).toEqual({ 'zone-a': 150, 'zone-b': 150, 'zone-c': 150 });
  });

  test('a hostname spread bounds the pods of each node', () => {
    const pods = podsOf(5, 'p', { ...x, ...spread({ topologyKey: labels.hostname, maxSkew: 2 }) });
    expect(sizesOf(plan(packingInput({ pods })))).toEqual([1, 2, 2]);
  });

  test('ScheduleAnyway is kept while possible, and never leaves a pod unplaced', () => {
    const anyway = spread({ whenUnsatisfiable: 'ScheduleAnyway' });
    expect(zonesOf(plan(packingInput({ pods: podsOf(3, 'p', { ...x, ...anyway }) })))).toEqual({
      'zone-a': 1,
      'zone-b': 1,
      'zone-c': 1,
    });
    const types = [instanceType('t', { cpu: 8, zones: ['zone-a'] })];
    const pools = [pool('default', { requirements: [{ key: labels.zone, operator: 'In', values: ['zone-a'] }] })];
    const min = spread({ whenUnsatisfiable: 'ScheduleAnyway', minDomains: 3 });
    const result = plan(packingInput({ pods: podsOf(3, 'p', { ...x, ...min }), nodePools: pools }, { types }));
    expect(result.unschedulable).toEqual([]);
  });

  test('a custom topology key spreads over the values that the NodePool allows', () => {
    const nodePools = [
      pool('default', { requirements: [{ key: 'example.com/rack', operator: 'In', values: ['r1', 'r2'] }] }),
    ];
    const pods = podsOf(4, 'p', { ...x, ...spread({ topologyKey: 'example.com/rack' }) });
    const result = plan(packingInput({ pods, nodePools }));
    expect(result.newNodeClaims.map(({ labels: own, pods: names }) => [own['example.com/rack'], names.length])).toEqual(
      [
        ['r1', 2],
        ['r2', 2],
      ],
    );
  });

  test('a PreferNoSchedule taint on a NodePool does not make spread forget placed pods', () => {
    const nodePools = [pool(), pool('preferred', { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] })];
    const pods = [...podsOf(3, 'a', { ...x, ...spread() }), ...podsOf(3, 'b', { ...x, ...spread(), cpu: '2' })];
    expect(zonesOf(plan(packingInput({ pods, nodePools })))).toEqual({ 'zone-a': 2, 'zone-b': 2, 'zone-c': 2 });
  });
});

describe('pod affinity', () => {
  // Rule `topology/affinity-begins`.
  test('a group with affinity by zone begins in one zone', () => {
    const pods = [
      ...podsOf(4, 'a', { ...x, ...affinityTo('x') }),
      ...podsOf(4, 'b', { ...x, ...affinityTo('x'), cpu: '3' }),
    ];
    expect(Object.keys(zonesOf(plan(packingInput({ pods }))))).toHaveLength(1);
  });

  test('a group with affinity begins where every member fits', () => {
    const only = pod('only', { ...x, ...affinityTo('x'), nodeSelector: { [labels.zone]: 'zone-c' } });
    const pods = [...podsOf(4, 'a', { ...x, ...affinityTo('x'), cpu: '2' }), only];
    expect(zonesOf(plan(packingInput({ pods })))).toEqual({ 'zone-c': 5 });
  });

  test('pods with affinity follow running pods', () => {
    const nodes = [full('b', 'zone-b')];
    const pods = [running('r', 'b'), ...podsOf(3, 'p', { ...x, ...affinityTo('x') })];
    expect(zonesOf(plan(packingInput({ pods, nodes })))).toEqual({ 'zone-b': 3 });
  });

  test('pods with affinity to pending pods are placed after those, in whatever order they come', () => {
    const leader = pod('leader', { ...x, nodeSelector: { [labels.zone]: 'zone-b' } });
    const pods = [...podsOf(3, 'p', { labels: { app: 'y' }, cpu: '4', ...affinityTo('x') }), leader];
    expect(zonesOf(plan(packingInput({ pods })))).toEqual({ 'zone-b': 4 });
  });

  test('a pod whose affinity selects no pod stays unplaced, with that reason', () => {
    const result = plan(packingInput({ pods: [pod('p', affinityTo('x'))] }));
    expect(result.unschedulable[0]!.blockers[0]).toMatchObject({ reason: 'Topology', subject: labels.zone });
  });

  test('self-affinity by host puts all on one node, and what does not fit stays pending (topology/affinity)', () => {
    const pods = podsOf(5, 'p', { ...x, cpu: '16', ...affinityTo('x', labels.hostname) });
    const result = plan(packingInput({ pods }));
    expect(sizesOf(result)).toEqual([4]);
    expect(result.unschedulable).toHaveLength(1);
    expect(result.unschedulable[0]!.blockers[0]).toMatchObject({ reason: 'Topology', subject: labels.hostname });
  });

  const toBoth = {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: labels.hostname, labelSelector: app('x') },
          { topologyKey: labels.zone, labelSelector: { matchLabels: { tier: 'front' } } },
        ],
      },
    },
  };
  const front = { labels: { app: 'x', tier: 'front' }, nodeSelector: { [labels.zone]: 'zone-b' } };

  test('a pod counts for affinity only if all required terms select it, as in kube-scheduler', () => {
    const other = pod('other', { labels: { app: 'y', tier: 'front' } });
    const pods = [...podsOf(2, 'p', { labels: { app: 'z' }, ...toBoth }), ...podsOf(2, 'only-app', x), other];
    const alone = plan(packingInput({ pods }));
    expect(alone.unschedulable.map((each) => each.pod)).toEqual(['default/p-0', 'default/p-1']);
    expect(alone.unschedulable[0]!.blockers[0]!.message).toContain('all of its affinity terms select');
    const result = plan(packingInput({ pods: [...pods, pod('both', front)] }));
    expect(result.unschedulable).toEqual([]);
    const [claim] = result.newNodeClaims.filter((each) => each.pods.includes('default/p-0'));
    expect(claim!.pods).toEqual(expect.arrayContaining(['default/both', 'default/p-1']));
  });

  test('the first pod of a group has to be selected by all of its required terms', () => {
    const pods = podsOf(2, 'p', { labels: front.labels, ...toBoth });
    expect(sizesOf(plan(packingInput({ pods })))).toEqual([2]);
    const half = podsOf(2, 'p', { labels: { app: 'x' }, ...toBoth });
    expect(plan(packingInput({ pods: half })).newNodeClaims).toEqual([]);
  });

  test('pods with affinity by host to others share nodes with them', () => {
    const pods = [
      ...podsOf(2, 'leader', x),
      ...podsOf(4, 'p', { labels: { app: 'y' }, ...affinityTo('x', labels.hostname) }),
    ];
    const result = plan(packingInput({ pods }));
    expect(result.unschedulable).toEqual([]);
    for (const claim of result.newNodeClaims) expect(claim.pods.some((name) => name.includes('leader'))).toBe(true);
  });

  test('preferred affinity is dropped when a pod is otherwise unplaced', () => {
    const preferring = {
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: labels.zone, labelSelector: app('nobody') } },
          ],
        },
      },
    };
    expect(plan(packingInput({ pods: [pod('p', preferring)] })).unschedulable).toEqual([]);
  });
});

describe('pod anti-affinity', () => {
  test('pods with anti-affinity by zone get one zone each in one pass; the others wait (topology/anti-affinity)', () => {
    const result = plan(packingInput({ pods: podsOf(4, 'p', { ...x, ...awayFrom('x') }) }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
    expect(result.unschedulable.map(({ blockers }) => blockers[0]!.reason)).toEqual(['Topology']);
  });

  test('a new pod avoids the domain of a running pod whose anti-affinity selects it (topology/running-anti-affinity)', () => {
    const nodes = [full('a', 'zone-a'), full('b', 'zone-b')];
    const pods = [
      pod('r1', { cpu: '10m', nodeName: 'a', ...awayFrom('x') }),
      pod('r2', { cpu: '10m', nodeName: 'b', ...awayFrom('x') }),
      ...podsOf(3, 'p', x),
    ];
    expect(zonesOf(plan(packingInput({ pods, nodes })))).toEqual({ 'zone-c': 3 });
  });

  test('anti-affinity by host holds in both directions', () => {
    const pods = [
      ...podsOf(2, 'shy', { labels: { app: 'y' }, ...awayFrom('x', labels.hostname) }),
      ...podsOf(2, 'loud', x),
    ];
    const result = plan(packingInput({ pods }));
    expect(result.unschedulable).toEqual([]);
    for (const { pods: names } of result.newNodeClaims) {
      expect(new Set(names.map((name) => name.slice(0, 'default/lo'.length))).size).toBe(1);
    }
  });

  test('pods with anti-affinity by host get a node each, existing ones first', () => {
    const nodes = [node('a'), node('b')];
    const result = plan(packingInput({ pods: podsOf(3, 'p', { ...x, ...awayFrom('x', labels.hostname) }), nodes }));
    expect(result.existingNodes.map(({ pods }) => pods.length)).toEqual([1, 1]);
    expect(sizesOf(result)).toEqual([1]);
  });

  test('terminating and finished pods do not count for anti-affinity', () => {
    const nodes = [node('a')];
    const deleting = running('r', 'a');
    deleting.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    const ended = { ...running('e', 'a'), status: { phase: 'Succeeded' } };
    const pods = [deleting, ended, pod('p', { ...x, ...awayFrom('x', labels.hostname) })];
    expect(plan(packingInput({ pods, nodes })).existingNodes).toHaveLength(1);
  });
});

// Rule `topology/namespaces`.
describe('namespaces of affinity terms', () => {
  const teams = ['a', 'b'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { team: name } },
  }));
  const other = pod('other', { ...x, namespace: 'b', nodeSelector: { [labels.zone]: 'zone-b' } });
  const run = (more: Partial<PodAffinityTerm>) => {
    const follower = pod('p', { namespace: 'a', ...affinityTo('x', labels.zone, more) });
    return plan(packingInput({ pods: [other, follower], namespaces: teams })).unschedulable.length;
  };
  test.each<[string, Partial<PodAffinityTerm>, number]>([
    ['its own by default', {}, 1],
    ['a list', { namespaces: ['b'] }, 0],
    ['a selector', { namespaceSelector: { matchLabels: { team: 'b' } } }, 0],
    ['a selector that selects others', { namespaceSelector: { matchLabels: { team: 'a' } } }, 1],
    ['an empty selector: all', { namespaceSelector: {} }, 0],
  ])('%s', (_, more, pending) => {
    expect(run(more)).toBe(pending);
  });
});

describe('default spread (provisioning/default-spread)', () => {
  const settings = {
    defaultTopologySpread: [{ maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' as const }],
  };
  const services = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', namespace: 'default' },
      spec: { selector: { app: 'x' } },
    },
  ];

  test('uses the Services that select the pod as its selector', () => {
    const result = plan(packingInput({ pods: podsOf(3, 'p', x), services }, { settings }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
  });

  test.each([
    ['apps/v1', { 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 }],
    ['apps.kruise.io/v1alpha1', { open: 3 }],
  ])("uses the pod's owner as its selector: %s (provisioning/owner-kinds)", (apiVersion, zones) => {
    const replicaSet = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'rs', namespace: 'default' },
      spec: { selector: app('x'), template: { spec: { containers: [] } } },
    };
    const pods = podsOf(3, 'p', x);
    for (const each of pods) {
      each.metadata.ownerReferences = [{ apiVersion, kind: 'ReplicaSet', name: 'rs', uid: 'rs', controller: true }];
    }
    expect(zonesOf(plan(packingInput({ pods, replicaSets: [replicaSet] }, { settings })))).toEqual(zones);
  });

  test('leaves pods with their own constraints, and pods without an owner, alone', () => {
    const own = podsOf(4, 'p', { ...x, ...spread({ topologyKey: labels.hostname, maxSkew: 9 }) });
    expect(plan(packingInput({ pods: own, services }, { settings })).newNodeClaims).toHaveLength(1);
    expect(zonesOf(plan(packingInput({ pods: podsOf(3, 'p', x) }, { settings })))).toEqual({ open: 3 });
  });
});

test('limits that leave pods unplaced do not let a domain exceed its skew', () => {
  const nodePools = [pool('default', { limits: { cpu: '4' } })];
  const types = [
    instanceType('small', { cpu: 1, zones: ['zone-a', 'zone-b'], price: 0.1 }),
    instanceType('large', { cpu: 4, zones: ['zone-c'], price: 0.1 }),
  ];
  const pods = podsOf(8, 'p', { ...x, ...spread() });
  const counts = Object.values(zonesOf(plan(packingInput({ pods, nodePools }, { types }))));
  const all = ['zone-a', 'zone-b', 'zone-c'].map((_, i) => counts[i] ?? 0);
  expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1);
});

describe("hostname spreads with different rules that select each other's pods", () => {
  const spread = (more: object = {}) => ({
    labels: { app: 'x' },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: labels.hostname,
        whenUnsatisfiable: 'DoNotSchedule' as const,
        labelSelector: { matchLabels: { app: 'x' } },
        ...more,
      },
    ],
  });
  const either = { labelSelector: { matchExpressions: [{ key: 'app', operator: 'In' as const, values: ['x', 'y'] }] } };

  test.each<[string, object, object, number]>([
    ['node selector', { ...spread(), nodeSelector: { [labels.arch]: 'amd64' } }, spread(), 2],
    ['selector', spread(either), spread(), 2],
    ['policies', spread({ nodeTaintsPolicy: 'Honor' }), spread(), 2],
    ['minDomains', spread({ minDomains: 2 }), spread(), 2],
    ['skew, of which the larger lets the other come last', spread({ maxSkew: 2 }), spread(), 1],
    ['selector, of which one selects its own pods alone', { ...spread(either), labels: { app: 'y' } }, spread(), 1],
  ])('%s', (_, one, other, nodes) => {
    const pods = [pod('p', { cpu: '1', ...one }), pod('q', { cpu: '1', ...other })];
    expect(plan(packingInput({ pods })).newNodeClaims).toHaveLength(nodes);
  });

  test('with a larger maxSkew count all of them together', () => {
    const pods = [
      ...podsOf(2, 'p', { cpu: '100m', ...spread({ maxSkew: 2 }) }),
      ...podsOf(2, 'q', { cpu: '100m', ...spread({ maxSkew: 3 }) }),
    ];
    const counts = plan(packingInput({ pods })).newNodeClaims.map((claim) => claim.pods.length);
    expect(counts.sort()).toEqual([1, 3]);
  });
});
