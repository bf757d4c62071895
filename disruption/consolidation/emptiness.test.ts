import { describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { allowance } from '../budgets/budgets.js';
import type { CandidateContext, NodeView } from '../candidates/candidates.js';
import { whyNotCandidate } from '../candidates/candidates.js';
import { countPools } from '../budgets/pool-counts.js';
import { emptyNodes } from './emptiness.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
const pool = nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '100%' }] } });

const context: CandidateContext = {
  now,
  claimed: new Set(),
  nominated: new Set(),
  podDisruptionBudgets: [],
};

function view(
  name: string,
  more: { pods?: Pod[]; pool?: NodePool; price?: number; idle?: number; node?: object; claim?: object } = {},
): NodeView {
  const initialized: Condition = { type: 'Initialized', status: 'True', lastTransitionTime: ago(600) };
  const base = nodeClaim(name, {
    status: { conditions: [initialized], lastPodEventTime: ago(more.idle ?? 60), providerID: name },
  });
  return {
    claim: { ...base, metadata: { ...base.metadata, ...more.claim } },
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${name}`, ...more.node },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    pool: more.pool ?? pool,
    pods: more.pods ?? [],
    pricePerHour: more.price ?? 1,
  };
}

function pod(name: string, more: { metadata?: object; spec?: object; status?: object; virtual?: true } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...more.metadata },
    spec: { nodeName: 'n', containers: [], ...more.spec },
    status: { phase: 'Running', ...more.status },
    ...(more.virtual && { virtual: true }),
  };
}

const owned = (kind: string): object => ({ ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o' }] });
const forged = { metadata: { annotations: { 'karpenter.sh/capacity-buffer-fake-pod': 'true' } } };
const terminating = { deletionTimestamp: ago(1) };
const allowedIn = (views: NodeView[], over: Partial<CandidateContext>) => (name: string) => {
  const budgets = views.find((view) => view.pool?.metadata.name === name)?.pool?.spec.disruption.budgets;
  const count = countPools(views, over.claimed ?? new Set()).get(name) ?? { total: 0, disrupting: 0 };
  return allowance(budgets, 'Empty', count, now);
};
const decide = (views: NodeView[], over: Partial<CandidateContext> = {}): ReturnType<typeof emptyNodes> =>
  emptyNodes(views, allowedIn(views, over), { ...context, ...over });
const removed = (views: NodeView[], over: Partial<CandidateContext> = {}): (string | undefined)[] =>
  decide(views, over).remove.map(({ claim }) => claim.metadata.name);

describe('emptyNodes: nodes removed as Empty', () => {
  // Rule `consolidation/empty-nodes`.
  test.each([
    ['no pod', [], true],
    ['a DaemonSet pod', [pod('d', { metadata: owned('DaemonSet') })], true],
    ['a finished pod', [pod('j', { status: { phase: 'Succeeded' } })], true],
    // Given a node with only priority −2^31 pods, then it counts as empty.
    ['a pod of the lowest priority', [pod('low', { spec: { priority: -(2 ** 31) } })], true],
    // Given terminating Deployment pods only, then empty; given a terminating StatefulSet pod, then not.
    ['a terminating pod', [pod('t', { metadata: { ...owned('ReplicaSet'), ...terminating } })], true],
    ['a terminating StatefulSet pod', [pod('s', { metadata: { ...owned('StatefulSet'), ...terminating } })], false],
    ['a running pod', [pod('web')], false],
    ['a buffer pod', [pod('b', { virtual: true })], false],
    [
      "a finished pod that a tenant gave Karpenter's annotation of buffer pods",
      [pod('j', { ...forged, status: { phase: 'Succeeded' } })],
      true,
    ],
  ])('a node with %s', (_name, pods, empty) => {
    expect(removed([view('a', { pods })])).toEqual(empty ? ['a'] : []);
  });

  // Given a pod bound 5s ago and consolidateAfter 30s, then not consolidatable.
  // Rules `consolidation/consolidate-after`, `consolidation/last-pod-event`.
  test('a node waits for consolidateAfter since its last pod event, and says until when', () => {
    const decision = decide([view('a', { idle: 5 })]);

    expect(decision.remove).toEqual([]);
    expect(decision.nextCheckAt).toBe(now + 25_000);
  });

  test('consolidateAfter Never and static pools keep their empty nodes', () => {
    const never = nodePool('never', { disruption: { consolidateAfter: 'Never' } });
    const fixed = nodePool('static', { replicas: 2 });

    expect(removed([view('a', { pool: never }), view('b', { pool: fixed })])).toEqual([]);
  });

  // Rule `disruption-cost/order`.
  test('nodes with the highest saving go first within the budget, and the others name it', () => {
    const tight = nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '2' }] } });
    const views = [1, 3, 2].map((price) => view(`p${price}`, { price, pool: tight }));

    const decision = decide(views);

    expect(decision.remove.map(({ claim }) => claim.metadata.name)).toEqual(['p3', 'p2']);
    expect(decision.held).toEqual([{ nodePool: 'default', why: '3 empty, 2 more allowed by budget 2' }]);
  });

  // Rule `budgets/not-ready-nodes-count`.
  test('nodes that are already disrupted count against the budget', () => {
    const tight = nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } });
    const views = [view('a', { pool: tight }), view('b', { pool: tight })];

    expect(removed(views, { claimed: new Set(['uid-a']) })).toEqual([]);
  });

  // Rules `candidates/disruptable-nodes`, `candidates/do-not-disrupt-nodes`.
  test.each([
    ['nominated', { nominated: new Set(['node-a']) }, {}],
    ['do-not-disrupt', {}, { node: { annotations: { [annotations.doNotDisrupt]: 'true' } } }],
    ['do-not-consolidate', {}, { node: { annotations: { [annotations.doNotConsolidate]: 'true' } } }],
    ['being deleted', {}, { claim: { deletionTimestamp: ago(1) } }],
    ['without a pool label', {}, { claim: { labels: {} } }],
    ['claimed', { claimed: new Set(['uid-a']) }, {}],
  ])('a node that is %s stays', (_name, over, more) => {
    expect(removed([view('a', more)], over)).toEqual([]);
  });

  test('a do-not-disrupt DaemonSet pod keeps the node', () => {
    const holy = pod('d', {
      metadata: { ...owned('DaemonSet'), annotations: { [annotations.doNotDisrupt]: 'true' } },
    });

    expect(decide([view('a', { pods: [holy] })]).held).toEqual([
      { nodePool: 'default', why: 'node-a: pod default/d is marked do-not-disrupt' },
    ]);
  });

  test('do-not-consolidate of a node does not keep an empty node under WhenEmpty, and does not prevent drift', () => {
    const emptyOnly = nodePool('default', { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s' } });
    const marked = { node: { annotations: { [annotations.doNotConsolidate]: 'true' } } };
    expect(removed([view('a', { ...marked, pool: emptyOnly })])).toEqual(['a']);
    expect(whyNotCandidate(view('a', marked), context, 'eventual')).toBeUndefined();
    expect(whyNotCandidate(view('a', marked), context)).toContain('do-not-consolidate');
  });

  // Rule `candidates/pod-disruption-budgets`.
  test('a DaemonSet pod behind an exhausted PodDisruptionBudget keeps the node', () => {
    const guarded = pod('d', { metadata: { ...owned('DaemonSet'), labels: { app: 'd' } } });
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'd' } } },
      status: { disruptionsAllowed: 0 },
    };

    const { held } = decide([view('a', { pods: [guarded] })], { podDisruptionBudgets: [budget] });

    expect(held[0]?.why).toContain('PodDisruptionBudget default/b');
  });

  test('the order of nodes changes nothing', () => {
    const views = ['c', 'a', 'b'].map((name) => view(name, { claim: { labels: { [labels.nodePool]: 'default' } } }));

    expect(removed([...views].reverse())).toEqual(removed(views));
  });

  const ofPool = (name: string, own: NodePool, more: Parameters<typeof view>[1] = {}): NodeView =>
    view(name, { ...more, pool: own, claim: { labels: { [labels.nodePool]: own.metadata.name! } } });
  const poolWith = (name: string, nodes: string, consolidateAfter = '0s'): NodePool =>
    nodePool(name, { disruption: { consolidateAfter, budgets: [{ nodes }] } });

  test('each NodePool has its own budget, in the order of names', () => {
    const [a, b] = [poolWith('a', '1'), poolWith('b', '0')];
    const views = [ofPool('y', b), ofPool('x', a, { price: 1 }), ofPool('z', a, { price: 2 }), ofPool('w', b)];
    const { remove, held } = decide(views);
    expect(remove.map(({ claim }) => claim.metadata.name)).toEqual(['z']);
    expect(held.map(({ nodePool: name, why }) => `${name}: ${why}`)).toEqual([
      'a: 2 empty, 1 more allowed by budget 1',
      'b: 2 empty, 0 more allowed by budget 0',
    ]);
  });

  test('no blocker and no next time where all of them go', () => {
    const decision = decide([ofPool('x', poolWith('a', '100%'))]);
    expect(decision.held).toEqual([]);
    expect('nextCheckAt' in decision).toBe(false);
  });

  test('a node without a NodePool stays', () => {
    expect(removed([{ ...view('a'), pool: undefined }])).toEqual([]);
  });

  test('nodes of equal saving are sorted by name, and prices count', () => {
    const tight = poolWith('default', '1');
    const names = (...views: NodeView[]) => removed(views);
    expect(names(ofPool('b', tight), ofPool('a', tight))).toEqual(['a']);
    expect(names(ofPool('a', tight), ofPool('b', tight))).toEqual(['a']);
    expect(names(ofPool('a', tight, { price: 1 }), ofPool('b', tight, { price: 2 }))).toEqual(['b']);
    expect(names(ofPool('b', tight, { price: 2 }), ofPool('a', tight, { price: 1 }))).toEqual(['b']);
  });

  test('the next look is when the first node becomes consolidatable', () => {
    const slow = poolWith('default', '100%', '30s');
    const early = ofPool('a', slow, { idle: 20 });
    const late = ofPool('b', slow, { idle: 5 });
    expect(decide([late, early]).nextCheckAt).toBe(now + 10_000);
    expect(removed([ofPool('c', slow, { idle: 30 })])).toEqual(['c']);
    const young: NodeView = { ...early, claim: { ...early.claim, status: { ...early.claim.status, conditions: [] } } };
    expect('nextCheckAt' in decide([young])).toBe(false);
    expect(decide([young]).held).toEqual([]);
  });

  test('the next look is when the budget that blocks them changes', () => {
    const outcome = (allowed: number) =>
      emptyNodes([ofPool('a', poolWith('default', '1'))], () => ({ allowed, changesAt: now + 5_000 }), context);
    expect(outcome(0)).toMatchObject({
      remove: [],
      held: [{ nodePool: 'default', why: '1 empty, 0 more allowed by the number of nodes being disrupted' }],
      nextCheckAt: now + 5_000,
    });
    expect('nextCheckAt' in outcome(1)).toBe(false);
  });

  test('a claim without a Node is named by its own name', () => {
    const bare: NodeView = { ...ofPool('a', poolWith('default', '1')), node: undefined };
    expect(decide([bare]).held).toEqual([{ nodePool: 'default', why: 'a: it has no Node' }]);
  });

  test('a capacity buffer keeps its node beside empty ones', () => {
    const buffer = pod('b', {
      virtual: true,
      spec: { priority: -(2 ** 31) },
    });
    const weightless = pod('w', { spec: { priority: -(2 ** 31) } });
    expect(removed([view('a', { pods: [weightless, buffer] })])).toEqual([]);
    expect(removed([view('a', { pods: [weightless] })])).toEqual(['a']);
  });
});
