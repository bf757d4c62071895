import { describe, expect, test } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import {
  input,
  large,
  node,
  now,
  pod,
  pool,
  small,
  type NodeOptions,
  type World,
} from '../../test/builders/consolidation.js';
import { examineNodes, nodePoolOf, type ExaminedNode } from './eligibility.js';
import type { ConsolidationInput } from './types.js';

const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
const examine = (world: Partial<World>, more: Partial<ConsolidationInput> = {}): ExaminedNode[] =>
  examineNodes({ ...input({ nodes: [node('n', large)], ...world }), ...more });
const only = (world: Partial<World>, more: Partial<ConsolidationInput> = {}): ExaminedNode => examine(world, more)[0]!;
const owned = (kind: string, apiVersion = 'apps/v1'): Pick<Pod['metadata'], 'ownerReferences'> => ({
  ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'o', controller: true }],
});
const meta = (more: Partial<Pod['metadata']>): { metadata: Pod['metadata'] } => ({
  metadata: { name: 'p', namespace: 'default', labels: { app: 'p' }, ...more },
});

describe('a candidate node', () => {
  test('without a blocker has its price, pods and disruption cost', () => {
    const pods = [
      pod('b', 'n', 1),
      pod('a', 'n', 1),
      pod('agent', 'n', 1, { metadata: { name: 'agent', namespace: 'a', ...owned('DaemonSet') } }),
      pod('far', 'm', 1),
      pod('waiting', '', 1),
    ];
    const found = only({ pods });
    expect(found).toMatchObject({ name: 'n', price: 0.2, why: undefined, counted: 'running', open: true });
    expect(found.pods.map(({ metadata }) => metadata.name)).toEqual(['a', 'agent', 'b']);
    expect(found.movable.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(found.cost).toBeGreaterThan(2);
    expect([found.pool?.metadata.name, nodePoolOf(found)]).toEqual(['default', 'default']);
  });

  test('with a pod of a DaemonSet of another API group is not empty (provisioning/owner-kinds)', () => {
    const pods = ['apps/v1', 'apps.kruise.io/v1alpha1'].map((group, i) =>
      pod(`p${i}`, 'n', 1, meta({ name: `p${i}`, ...owned('DaemonSet', group) })),
    );
    expect(only({ pods }).movable.map(({ metadata }) => metadata.name)).toEqual(['p1']);
  });

  test('has its pods sorted by name, then namespace', () => {
    const named = (name: string, namespace: string) => pod(name, 'n', 1, { metadata: { name, namespace } });
    const pods = [named('b', 'a'), named('a', 'z'), named('a', 'y')];
    expect(only({ pods }).pods.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual([
      'y/a',
      'z/a',
      'a/b',
    ]);
  });

  test('of unknown price costs nothing, and is removed only while empty', () => {
    const found = only({ types: [small] });
    expect([found.price, found.why]).toEqual([0, undefined]);
    expect(only({ types: [small], pods: [pod('p', 'n', 1)] }).why).toBe('the catalogue has no price for it');
  });

  test('has the NodePool and offering of its claim, however its Node is relabelled (labels/what-is-believed)', () => {
    const { nodes, nodeClaims } = node('n', large);
    const relabelled = { ...nodes[0]!.metadata.labels, [labels.nodePool]: 'other', [labels.instanceType]: small.name };
    const relabelledNode = { ...nodes[0]!, metadata: { ...nodes[0]!.metadata, labels: relabelled } };
    const found = only({ nodes: [{ nodes: [relabelledNode], nodeClaims }], pools: [pool('default'), pool('other')] });
    expect([nodePoolOf(found), found.pool?.metadata.name, found.price]).toEqual(['default', 'default', 0.2]);
  });

  test('without a NodePool counts in no pool', () => {
    const { nodes } = node('n', large);
    const plain = { ...nodes[0]!, metadata: { name: 'n', labels: {} } };
    const found = only({ nodes: [{ nodes: [plain], nodeClaims: [] }] });
    expect(found).toMatchObject({ pool: undefined, why: 'it has no NodeClaim', open: true, counted: 'no' });
    expect(nodePoolOf(found)).toBe('');
  });
});

describe('what blocks the disruption of a node', () => {
  const withPod = { pods: [pod('p', 'n', 1)] };
  const labelled = (key: string) => {
    const { nodes, nodeClaims } = node('n', large);
    const own = Object.fromEntries(Object.entries(nodes[0]!.metadata.labels!).filter(([name]) => name !== key));
    return { nodes: [{ ...nodes[0]!, metadata: { ...nodes[0]!.metadata, labels: own } }], nodeClaims };
  };

  test.each<[string, Partial<World>, Partial<ConsolidationInput>, string | RegExp | undefined]>([
    ['a pause', {}, { kept: new Map([['n', 'paused']]) }, 'paused'],
    ['no pause of others', {}, { kept: new Map([['m', 'paused']]) }, undefined],
    ['a disruption under way', {}, { claimed: new Set(['uid-n']) }, /.+/],
    ['pods that come', {}, { nominated: new Set(['n']) }, /.+/],
    ['a static NodePool', { pools: [pool('default', { replicas: 1 })] }, {}, 'its NodePool is static'],
    [
      'consolidateAfter: Never',
      { pools: [pool('default', { disruption: { consolidateAfter: 'Never' } })] },
      {},
      'its NodePool has consolidateAfter: Never',
    ],
    [
      'consolidateAfter',
      {
        nodes: [node('n', large, { claim: { lastPodEventTime: ago(10) } })],
        pools: [pool('default', { disruption: { consolidateAfter: '30s' } })],
      },
      {},
      /^consolidateAfter holds until \S+Z$/,
    ],
    [
      'consolidateAfter that ends just now',
      {
        nodes: [node('n', large, { claim: { lastPodEventTime: ago(30) } })],
        pools: [pool('default', { disruption: { consolidateAfter: '30s' } })],
      },
      {},
      undefined,
    ],
    [
      'consolidateAfter that ends in time',
      {
        nodes: [node('n', large, { claim: { lastPodEventTime: ago(10) } })],
        pools: [pool('default', { disruption: { consolidateAfter: '30s' } })],
      },
      { consolidatableBy: now + 20_000 },
      undefined,
    ],
    [
      'WhenEmpty, with pods',
      { ...withPod, pools: [pool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } })] },
      {},
      /^it is not empty/,
    ],
    [
      'WhenEmpty, without',
      { pools: [pool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } })] },
      {},
      undefined,
    ],
    [
      'no instance type',
      { ...withPod, nodes: [labelled(labels.instanceType)] },
      {},
      `it has no label ${labels.instanceType}`,
    ],
    ['no zone', { ...withPod, nodes: [labelled(labels.zone)] }, {}, `it has no label ${labels.zone}`],
    [
      'no capacity type',
      { ...withPod, nodes: [labelled(labels.capacityType)] },
      {},
      `it has no label ${labels.capacityType}`,
    ],
    ['no label, without pods', { nodes: [labelled(labels.zone)] }, {}, undefined],
    [
      'a pod that will come back',
      { pods: [pod('p', 'n', 1, meta({ deletionTimestamp: ago(1), ...owned('StatefulSet') }))] },
      {},
      'pod default/p is terminating and will come back',
    ],
    [
      'do-not-disrupt',
      { pods: [pod('p', 'n', 1, meta({ annotations: { [annotations.doNotDisrupt]: 'true' } }))] },
      {},
      /default\/p/,
    ],
  ])('%s', (_, world, more, why) => {
    const found = only(world, more).why;
    if (why === undefined) expect(found).toBeUndefined();
    else expect(found).toEqual(typeof why === 'string' ? why : expect.stringMatching(why));
  });

  test('a missing initialization', () => {
    expect(only({ nodes: [node('n', large, { initialized: false })] }).why).toBeDefined();
  });

  const cheap = (name: string, own: Partial<Pod['metadata']> = {}) =>
    pod(name, 'n', 1, {
      metadata: {
        name,
        namespace: 'default',
        annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-2147483648' },
        ...own,
      },
    });
  const whenEmpty = [pool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } })];

  test('a capacity buffer, and no pods with disruption cost 0 (capacity-buffers/nodes-are-not-empty)', () => {
    expect(only({ pods: [cheap('p')], pools: whenEmpty }).why).toBeUndefined();
    const buffer: Pod = { ...cheap('q'), virtual: true };
    expect(only({ pods: [cheap('p'), buffer], pools: whenEmpty }).why).toMatch(/^it is not empty/);
  });
});

describe('PodDisruptionBudgets of a candidate', () => {
  const budget = (name: string, disruptionsAllowed: number, app = 'p', namespace = 'default'): PodDisruptionBudget => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { selector: { matchLabels: { app } }, maxUnavailable: 1 },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });
  const why = (budgets: readonly PodDisruptionBudget[], ...pods: Pod[]) => only({ pods, budgets }).why;
  const own = pod('p', 'n', 1);

  test('block a node with a pod that they do not allow to evict', () => {
    expect(why([budget('b', 0)], own)).toBe('PodDisruptionBudget default/b forbids evicting pod default/p');
    expect(why([budget('b', 1)], own)).toBeUndefined();
    expect(why([budget('b', 0, 'other')], own)).toBeUndefined();
    expect(why([budget('b', 0, 'p', 'elsewhere')], own)).toBeUndefined();
    expect(why([budget('x', 1, 'other'), budget('b', 0)], pod('q', 'n', 1), own)).toMatch(/default\/b forbids/);
  });

  test('block where several select one pod', () => {
    expect(why([budget('b', 1), budget('a', 1)], own)).toMatch(
      /^more than one PodDisruptionBudget \(default\/a, default\/b\)/,
    );
  });

  test('ignore pods that are never evicted', () => {
    const mirror = pod('p', 'n', 1, meta({ annotations: { 'kubernetes.io/config.mirror': 'x' } }));
    const done = pod('p', 'n', 1, { status: { phase: 'Succeeded' } });
    expect(why([budget('b', 0)], mirror)).toBeUndefined();
    expect(why([budget('b', 0)], done)).toBeUndefined();
  });

  test('are matched by labels, namespace and readiness of the pods', () => {
    const ready = (name: string, app: string, namespace: string, status: 'True' | 'False') =>
      pod(name, 'n', 1, {
        metadata: { name, namespace, labels: { app } },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
      });
    const lenient = (name: string): PodDisruptionBudget => ({
      ...budget(name, 0),
      spec: { ...budget(name, 0).spec, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    });
    expect(why([lenient('b')], ready('a', 'p', 'default', 'False'), ready('b', 'p', 'default', 'True'))).toMatch(
      /pod default\/b$/,
    );
    expect(why([lenient('b')], ready('a', 'p', 'default', 'False'))).toBeUndefined();
    expect(why([lenient('b')], pod('p', 'n', 1))).toBeUndefined();
    const elsewhere = budget('z', 0, 'p', 'other');
    expect(
      why([budget('b', 1), elsewhere], ready('a', 'p', 'default', 'True'), ready('b', 'p', 'other', 'True')),
    ).toMatch(/other\/z forbids evicting pod other\/b/);
  });
});

describe('pods may be moved to a node', () => {
  const waitingFor = (options: NodeOptions, more: Partial<ConsolidationInput> = {}) =>
    only(
      { nodes: [node('n', large, options)], pools: [pool('default', { disruption: { consolidateAfter: '30s' } })] },
      more,
    ).open;

  test('once its consolidateAfter has passed (consolidation/consolidate-after)', () => {
    expect(waitingFor({ claim: { lastPodEventTime: ago(29) } })).toBe(false);
    expect(waitingFor({ claim: { lastPodEventTime: ago(30) } })).toBe(true);
    expect(waitingFor({ claim: { lastPodEventTime: ago(29) } }, { consolidatableBy: now + 1000 })).toBe(true);
  });

  test('only once it is initialized, if it was not launched for them', () => {
    const starting = { initialized: false };
    expect(waitingFor(starting)).toBe(false);
    expect(waitingFor(starting, { launched: new Set(['claim-n']) })).toBe(true);
  });

  test('at once if the command launched it for them', () => {
    expect(waitingFor({ claim: { lastPodEventTime: ago(1) } }, { launched: new Set(['claim-n']) })).toBe(true);
    expect(waitingFor({ claim: { lastPodEventTime: ago(1) } }, { launched: new Set(['claim-m']) })).toBe(false);
  });
});
