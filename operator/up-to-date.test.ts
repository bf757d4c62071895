import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import { disruptionPolicies } from '../api/stowage/disruption-policy.js';
import { annotations, labels } from '../api/labels.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { blockedBy, blockedContext } from '../cluster/blocked-nodes.js';
import { managedClaims, unpricedView } from '../cluster/cluster.js';
import { conditionOf, nodesUpToDate } from '../core/conditions.js';
import { nodePoolHash, nodePoolHashVersion } from '../disruption/drift/template-hash.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import type { OperatorContext } from './context.js';
import { watchDisruptionPauses } from './disruption-pauses.js';
import { resolveNodeClass, watchNodeClasses } from './node-classes.js';
import { watchNodePools } from './node-pools.js';

const trueConditions = (...types: string[]) => types.map((type) => ({ type, status: 'True' as const }));
const running = ['Launched', 'Registered', 'Initialized'];

let world: ActivityWorld;
let stops: (() => void)[];

beforeEach(async () => {
  world = await createActivityWorld();
  stops = [];
  const status = { conditions: [{ type: 'Ready', status: 'True' as const, observedGeneration: 1 }] };
  const own = nodeClass('default');
  world.kube.put('EC2NodeClass', { ...own, metadata: { ...own.metadata, generation: 1 }, status });
});
afterEach(() => {
  for (const stop of stops) stop();
  world.stop();
});

const context = (): OperatorContext => operatorContext(world, { podsPending: () => Promise.resolve() });

interface Made {
  readonly drifted?: boolean;
  readonly node?: Partial<Node['metadata']>;
  readonly claim?: object;
  readonly pod?: Partial<Pod['metadata']>;
}

function put(name: string, { drifted = false, node, claim, pod }: Made = {}): void {
  const providerID = `fake:///a/${name}`;
  const conditions = trueConditions(...running, ...(drifted ? ['Drifted'] : []));
  const made = nodeClaim(name, { status: { providerID, nodeName: `node-${name}`, conditions } });
  world.kube.put('NodeClaim', { ...made, metadata: { ...made.metadata, ...claim } });
  world.kube.put('Node', {
    metadata: { name: `node-${name}`, labels: { [labels.nodePool]: 'default' }, ...node },
    spec: { providerID },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  if (pod !== undefined)
    world.kube.put('Pod', {
      metadata: { name: `pod-${name}`, namespace: 'shop', ...pod },
      spec: { nodeName: `node-${name}`, containers: [] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
}

const protectedPod = { annotations: { [annotations.doNotDisrupt]: 'true' } };
const closed = { disruption: { budgets: [{ nodes: '0' }] } };
const pauseOf = (scope: DisruptionPause['spec']['scope'], until?: string): DisruptionPause => ({
  apiVersion: 'stowage.dev/v1alpha1',
  kind: 'DisruptionPause',
  metadata: { name: 'release', generation: 1 },
  spec: { scope, message: 'a release', ...(until === undefined ? {} : { until }) },
});

const statusOf = (kind: 'NodePool' | 'EC2NodeClass') => world.deps.cache.get(kind, { name: 'default' })?.status;
async function becomes(kind: 'NodePool' | 'EC2NodeClass', status: 'True' | 'False'): Promise<unknown> {
  const read = () => conditionOf(statusOf(kind)?.conditions, nodesUpToDate);
  await world.deps.cache.until(() => read()?.status === status, AbortSignal.timeout(10_000));
  const { reason, message, observedGeneration } = read()!;
  return { reason, message, observedGeneration, updates: statusOf(kind)?.updates };
}

describe('a NodePool and a node class say how many of their nodes are up to date (node-pools/up-to-date)', () => {
  test.each<[string, Parameters<typeof nodePool>[1], () => void, string, string]>([
    [
      'drifted nodes are updating',
      {},
      () => put('b', { drifted: true }),
      'Updating',
      '1 of 2 nodes up to date, 1 updating, 0 blocked',
    ],
    [
      'a protected pod blocks its node',
      {},
      () => put('b', { drifted: true, pod: protectedPod }),
      'Blocked',
      '1 of 2 nodes up to date, 0 updating, 1 blocked: node-b: pod shop/pod-b is marked do-not-disrupt',
    ],
    [
      'a closed budget blocks them',
      closed,
      () => put('b', { drifted: true }),
      'Blocked',
      '1 of 2 nodes up to date, 0 updating, 1 blocked: node-b: budget 0 allows no more for Drifted',
    ],
    [
      'a budget that is used up blocks no node: it is its turn later',
      { disruption: { budgets: [{ nodes: '1' }] } },
      () => {
        put('b', { drifted: true });
        put('c', { drifted: true, node: { deletionTimestamp: '2026-01-05T12:00:00Z', finalizers: ['x'] } });
      },
      'Updating',
      '1 of 3 nodes up to date, 2 updating, 0 blocked',
    ],
    [
      'a template that changed counts before its nodes are marked Drifted',
      {},
      () =>
        put('b', {
          claim: {
            annotations: { [annotations.nodePoolHash]: 'old', [annotations.nodePoolHashVersion]: nodePoolHashVersion },
          },
        }),
      'Updating',
      '1 of 2 nodes up to date, 1 updating, 0 blocked',
    ],
  ])('%s', async (_title, spec, older, reason, message) => {
    world.kube.put('NodePool', nodePool('default', spec));
    put('a');
    older();
    await world.synced();
    stops.push(watchNodePools(context()));
    expect(await becomes('NodePool', 'False')).toMatchObject({ reason, message, observedGeneration: 1 });
  });

  test('a NodePool whose nodes are all of its template is up to date, also without nodes, and nothing is written again', async () => {
    const pool: NodePool = nodePool('default');
    const stamp = {
      [annotations.nodePoolHash]: nodePoolHash(pool.spec.template),
      [annotations.nodePoolHashVersion]: nodePoolHashVersion,
    };
    world.kube.put('NodePool', pool);
    put('a', { claim: { annotations: stamp } });
    await world.synced();
    stops.push(watchNodePools(context()));
    expect(await becomes('NodePool', 'True')).toEqual({
      reason: nodesUpToDate,
      message: '1 node up to date',
      observedGeneration: 1,
      updates: { upToDate: 1, updating: 0, blocked: 0 },
    });
    stops.pop()!();
    await world.synced();
    // As Karpenter's manifest stores it, which does not have the counters.
    const live = world.kube.objects('NodePool')[0]!;
    world.kube.put('NodePool', { ...live, status: { ...live.status, updates: undefined } });
    world.kube.put('NodePool', nodePool('later'));
    await world.synced();
    const patch = jest.spyOn(world.kube, 'patch');
    stops.push(watchNodePools(context()));
    const isLaterDone = () =>
      conditionOf(world.deps.cache.get('NodePool', { name: 'later' })?.status?.conditions, 'Ready') !== undefined;
    await world.deps.cache.until(isLaterDone, AbortSignal.timeout(5000));
    expect(patch.mock.calls.filter(([, { name }]) => name === 'default')).toEqual([]);
  });

  test('a node class counts the nodes of all its NodePools, and is not written again when it is resolved again', async () => {
    world.kube.put('NodePool', nodePool('default'));
    put('a');
    put('b', { drifted: true, pod: protectedPod });
    await world.synced();
    stops.push(watchNodeClasses(context()));
    expect(await becomes('EC2NodeClass', 'False')).toMatchObject({
      reason: 'Blocked',
      updates: { upToDate: 1, updating: 0, blocked: 1 },
    });
    expect(conditionOf(statusOf('EC2NodeClass')?.conditions, 'Ready')?.status).toBe('True');

    stops.pop()!();
    const patch = jest.spyOn(world.kube, 'patch');
    await resolveNodeClass(context(), 'EC2NodeClass', 'default');
    expect(patch).not.toHaveBeenCalled();
  });
});

describe('what blocks a disruption has a name, as metrics show it', () => {
  const policy = (spec: object) =>
    disruptionPolicies.mustParse({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'p', uid: 'p' },
      spec,
    });

  const pausing = () => world.kube.put('DisruptionPause', pauseOf({ kind: 'Cluster' }));
  const recommending = () => world.kube.put('DisruptionPolicy', policy({ mode: 'Recommend' }));
  const budgeting = () =>
    world.kube.put('PodDisruptionBudget', {
      metadata: { name: 'pdb', namespace: 'shop' },
      spec: { selector: { matchLabels: { app: 'a' } } },
      status: { disruptionsAllowed: 0 },
    });
  const asked = { workflow: 'w', reason: 'Drifted', for: 'Approval', why: 'a person', since: 0 };
  const asking = { annotations: { [annotations.disruptionWait]: JSON.stringify(asked) } };
  const after = (consolidateAfter: string, more: object = {}) => ({ disruption: { consolidateAfter, ...more } });

  interface Case extends Made {
    readonly reason?: 'Drifted' | 'Underutilized';
    readonly pool?: object;
    readonly also?: () => unknown;
  }

  test.each<[string, string | undefined, Case]>([
    ['nothing', undefined, {}],
    ['a pod', 'do_not_disrupt', { reason: 'Underutilized', pool: after('0s'), pod: protectedPod }],
    ['a PodDisruptionBudget', 'pod_disruption_budget', { pod: { labels: { app: 'a' } }, also: budgeting }],
    ['a pause', 'pause', { also: pausing }],
    ['a policy', 'recommend_only', { also: recommending }],
    ['a budget', 'budget', { pool: closed }],
    ['a question', 'approval', { claim: asking }],
    ['consolidateAfter', 'not_consolidatable', { reason: 'Underutilized', pool: after('90000h') }],
    ['consolidateAfter: Never', 'consolidation_disabled', { reason: 'Underutilized', pool: after('Never') }],
    [
      'consolidationPolicy',
      'consolidation_disabled',
      { reason: 'Underutilized', pool: after('0s', { consolidationPolicy: 'WhenEmpty' }) },
    ],
  ])('%s: %s', async (_what, blocker, { reason = 'Drifted' as const, pool, also, ...made }) => {
    world.kube.put('NodePool', nodePool('default', pool));
    put('a', { drifted: reason === 'Drifted', ...made });
    const claim = world.kube.objects('NodeClaim')[0]!;
    world.kube.put('NodeClaim', { ...claim, status: { ...claim.status, lastPodEventTime: '2026-01-05T11:00:00Z' } });
    also?.();
    await world.synced();
    const views = managedClaims(world.deps).map((own) => unpricedView(world.deps.cache, own));
    expect(blockedBy(views[0]!, reason, blockedContext(world.deps, views))?.blocker).toBe(blocker);
  });
});

test('a DisruptionPause is Ready for its generation, and says when it is over (people/pauses-have-a-status)', async () => {
  world.kube.put('DisruptionPause', pauseOf({ kind: 'Cluster' }, '2026-01-05T12:00:10Z'));
  await world.synced();
  stops.push(watchDisruptionPauses(context()));
  const ready = () => {
    const { status } = world.deps.cache.get('DisruptionPause', { name: 'release' })!;
    const { status: value, reason } = conditionOf(status?.conditions, 'Ready') ?? {};
    return [value, reason, status?.observedGeneration];
  };
  await world.deps.cache.until(() => ready()[1] === 'InForce', AbortSignal.timeout(5000));
  expect(ready()).toEqual(['True', 'InForce', 1]);

  world.clock.now += 10_000;
  const later = {
    ...pauseOf({ kind: 'Cluster' }, '2026-01-05T12:00:05Z'),
    metadata: { name: 'release', generation: 2 },
  };
  world.kube.put('DisruptionPause', {
    ...later,
    status: world.kube.objects('DisruptionPause')[0]!.status,
  });
  await world.deps.cache.until(() => ready()[1] === 'Expired', AbortSignal.timeout(5000));
  expect(ready()).toEqual(['True', 'Expired', 2]);
});
