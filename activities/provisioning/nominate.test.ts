import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition, Pod, PodSpec } from '../../api/kubernetes.js';
import { annotations, labels, taints } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { PlanNodesResult } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { createLaunchActivities } from '../launch/launch.js';
import { createPlanningActivities } from './planning.js';
import { explainPod } from '../people/explanations.js';
import { lacksNode, awaitedNode } from '../../cluster/awaited-nodes.js';

const claim = { name: 'c1', uid: 'uid-c1' };
const providerID = 'fake:///a/i-1';
const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
const done = (type: string, lastTransitionTime = '2026-01-05T11:59:00Z'): Condition => ({
  type,
  status: 'True',
  lastTransitionTime,
});

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly on?: string;
  readonly nominated?: string;
  readonly created?: string;
  readonly labels?: Record<string, string>;
}

const podOf = (
  name: string,
  { spec, on, nominated, created = '2026-01-05T11:58:00Z', labels: own }: Given = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `pod-${name}`, creationTimestamp: created, labels: own ?? {} },
  spec: {
    containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }],
    ...spec,
    ...(on === undefined ? {} : { nodeName: on }),
  },
  status: {
    phase: 'Pending',
    conditions: on === undefined ? [unschedulable] : [],
    ...(nominated === undefined ? {} : { nominatedNodeName: nominated }),
  },
});

let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
  world.kube.put('EC2NodeClass', nodeClass('default'));
  world.kube.put('NodePool', ready(nodePool('default')));
});
afterEach(() => world.stop());

/** A claim whose last plan names these pods, and its node. */
function putNode(
  planned: string,
  conditions: Condition[],
  node: { taints?: object[]; deletionTimestamp?: string } = {},
): void {
  const base = nodeClaim('c1', {
    status: { providerID, nodeName: 'n1', conditions, allocatable: { cpu: '4', memory: '16Gi', pods: '58' } },
  });
  const metadata = {
    ...base.metadata,
    annotations: { [annotations.plannedPods]: planned, [annotations.podsToNominate]: planned },
    labels: { ...base.metadata.labels, [labels.instanceType]: 'm5.xlarge', [labels.zone]: 'a' },
  };
  world.kube.put('NodeClaim', { ...base, metadata });
  const { deletionTimestamp } = node;
  world.kube.put('Node', {
    metadata: {
      name: 'n1',
      labels: { [labels.nodePool]: 'default', [labels.registered]: 'true', [labels.zone]: 'a' },
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp, finalizers: ['x'] }),
    },
    spec: { providerID, taints: (node.taints ?? [taints.unregistered]) as never },
    status: {
      allocatable: { cpu: '4', memory: '16Gi', pods: '58' },
      conditions: [{ type: 'Ready', status: conditions.some(({ type }) => type === 'Initialized') ? 'True' : 'False' }],
    },
  });
}
const launchedOnly = [done('Launched')];
const registeredToo = [...launchedOnly, done('Registered')];

async function sync(deps: Partial<ActivityDeps> = {}): Promise<string> {
  await world.synced();
  const activities = createLaunchActivities({ ...world.deps, ...deps });
  let found = await activities.syncNode({ claim });
  // As the workflow does, which waits for other nodes by a timer.
  while ('againMs' in found && found.againMs !== undefined) {
    world.clock.now += found.againMs;
    await world.synced();
    found = await activities.syncNode({ claim });
  }
  await world.synced();
  return found.state;
}
const nominationOf = (name: string): string =>
  world.kube.objects('Pod').find(({ metadata }) => metadata.name === name)?.status?.nominatedNodeName ?? '';

describe('nominating planned pods to the node launched for them', () => {
  test('happens before the unregistered taint is removed, and only for pods that still wait', async () => {
    putNode('default/a,default/bound,default/gone,default/elsewhere', launchedOnly);
    world.kube.put('Pod', podOf('a'));
    world.kube.put('Pod', podOf('bound', { on: 'other' }));
    world.kube.put('Pod', podOf('elsewhere', { nominated: 'other' }));
    world.kube.put('Pod', podOf('unplanned'));
    world.kube.put('Node', { metadata: { name: 'other' } });
    const writes: string[] = [];
    const kube = {
      ...world.kube,
      patch: ((kind, ref, ...more) => {
        writes.push(`${kind} ${ref.name}`);
        return world.kube.patch(kind, ref, ...more);
      }) as typeof world.kube.patch,
    };

    await expect(sync({ kube })).resolves.toBe('registered');

    expect(writes.slice(0, 2)).toEqual(['Pod a', 'Node n1']);
    expect(nominationOf('a')).toBe('n1');
    expect(['bound', 'elsewhere', 'unplanned'].map(nominationOf)).toEqual(['', 'other', '']);
    const node = await world.kube.get('Node', { name: 'n1' });
    expect(node?.spec?.taints).toEqual([]);
    expect(node?.metadata.annotations).not.toHaveProperty(annotations.plannedPods);
  });

  const clear = (name: string) =>
    world.kube.patch(
      'Pod',
      { name, namespace: 'default' },
      { status: { nominatedNodeName: null } },
      { subresource: 'status' },
    );
  const nominatedInCache = (name: string): Promise<void> =>
    world.deps.cache.until(
      () => world.deps.cache.get('Pod', { namespace: 'default', name })?.status?.nominatedNodeName === 'n1',
      AbortSignal.timeout(5000),
    );

  test('is repeated at once for a pod that kube-scheduler gave up while the node was not Ready', async () => {
    putNode('default/a', registeredToo, { taints: [] });
    world.kube.put('Pod', podOf('a'));
    await sync();
    expect(nominationOf('a')).toBe('n1');

    for (let i = 0; i < 3; i++) {
      await clear('a');
      await nominatedInCache('a');
    }
  });

  test('includes a missed pod at the next look, until the node is initialized', async () => {
    putNode('default/a,default/late', registeredToo, { taints: [] });
    world.kube.put('Pod', podOf('a'));
    await sync();
    world.kube.put('Pod', podOf('late'));
    await sync();
    expect(['a', 'late'].map(nominationOf)).toEqual(['n1', 'n1']);

    putNode('default/a,default/late', [...registeredToo, done('Initialized')], { taints: [] });
    await world.synced();
    await clear('a');
    await expect(sync()).resolves.toBe('initialized');
    expect(['a', 'late'].map(nominationOf)).toEqual(['', 'n1']);
  });

  test('does not delay the node where the API server refuses it, and is not tried for every pod then', async () => {
    const names = Array.from({ length: 200 }, (_, i) => `p${i}`);
    putNode(names.map((name) => `default/${name}`).join(), launchedOnly);
    for (const name of names) world.kube.put('Pod', podOf(name));
    let asked = 0;
    const outcomes: string[] = [];
    const kube = {
      ...world.kube,
      patch: ((kind, ...more) => {
        if (kind !== 'Pod') return world.kube.patch(kind, ...more);
        asked++;
        return Promise.reject(new DomainError('Denied', 'pods/status is forbidden'));
      }) as typeof world.kube.patch,
    };
    const count = (name: string, { outcome = '' }: Readonly<Record<string, string>>): void => {
      if (name === 'stowage_pod_nominations_total') outcomes.push(outcome);
    };

    await expect(sync({ kube, metrics: { ...world.deps.metrics, count } })).resolves.toBe('registered');

    expect(asked).toBeLessThan(50);
    expect(new Set(outcomes)).toEqual(new Set(['failed']));
  });

  test('ends after five seconds, however many pods are left', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
    putNode(names.map((name) => `default/${name}`).join(), registeredToo, { taints: [] });
    for (const name of names) world.kube.put('Pod', podOf(name));
    const kube = {
      ...world.kube,
      patch: ((kind, ...more) => {
        if (kind === 'Pod') world.clock.now += 1000;
        return world.kube.patch(kind, ...more);
      }) as typeof world.kube.patch,
    };

    await expect(sync({ kube })).resolves.toBe('registered');

    expect(names.filter((name) => nominationOf(name) !== '').length).toBeLessThan(20);
  });

  test('skips a pod that was bound meanwhile', async () => {
    putNode('default/a', registeredToo, { taints: [] });
    world.kube.put('Pod', podOf('a'));
    const kube = {
      ...world.kube,
      patch: (async (kind, ...more) => {
        if (kind === 'Pod')
          await world.kube.patch('Pod', { name: 'a', namespace: 'default' }, { spec: { nodeName: 'n2' } });
        return world.kube.patch(kind, ...more);
      }) as typeof world.kube.patch,
    };

    await sync({ kube });

    expect(nominationOf('a')).toBe('');
  });

  test('does nothing when switched off', async () => {
    putNode('default/a', launchedOnly);
    world.kube.put('Pod', podOf('a'));

    await sync({ nominatePods: false });

    expect(nominationOf('a')).toBe('');
  });

  // Rule `provisioning/nominated-pods`.
  test('happens only for pods that the plan chose for it', async () => {
    putNode('default/a,default/b', launchedOnly);
    const [written] = world.kube.objects('NodeClaim');
    const chosen = { ...written!.metadata.annotations, [annotations.podsToNominate]: 'default/b' };
    world.kube.put('NodeClaim', { ...written!, metadata: { ...written!.metadata, annotations: chosen } });
    for (const name of ['a', 'b']) world.kube.put('Pod', podOf(name));

    await sync();

    expect(['a', 'b'].map(nominationOf)).toEqual(['', 'n1']);
  });

  test('leaves out pods that never preempt, and more pods of a required spread than its skew allows', async () => {
    const spread = (maxSkew: number): Given => ({
      labels: { app: 'web' },
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew,
            topologyKey: labels.zone,
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
      },
    });
    putNode('default/never,default/tight,default/loose', launchedOnly);
    world.kube.put('Pod', podOf('never', { spec: { preemptionPolicy: 'Never' } }));
    world.kube.put('Pod', podOf('tight', spread(1)));
    world.kube.put('Pod', podOf('loose', spread(2)));

    await sync();

    expect(['never', 'tight', 'loose'].map(nominationOf)).toEqual(['', '', 'n1']);
  });
});

describe('nominated pods in the next plan', () => {
  const planNow = async (): Promise<Extract<PlanNodesResult, { state: 'planned' }>> => {
    await world.synced();
    const planning = createPlanningActivities(world.deps);
    const plan = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
      planning.planNodes({ marks: [], without: [] }),
    );
    if (plan.state !== 'planned') throw new Error(plan.reason);
    return plan;
  };
  const planned = ({ claims }: { claims: readonly { pods: readonly string[] }[] }): string[] =>
    claims.flatMap(({ pods }) => pods);

  test('keep their room, and are not planned again', async () => {
    putNode('default/a', registeredToo, { taints: [] });
    world.kube.put('Pod', podOf('a', { nominated: 'n1', spec: { containers: [{ name: 'app', resources: { requests: { cpu: '3' } } }] } })); // prettier-ignore
    world.kube.put(
      'Pod',
      podOf('new', { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '2' } } }] } }),
    );

    const plan = await planNow();

    expect(planned(plan)).toEqual(['default/new']);
    expect(plan.onExistingNodes).toBe(0);
  });

  test('keep their room on a node that is still starting, for half an hour', async () => {
    const pod = (cpu: string): Given => ({ spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] } });
    putNode('default/a', launchedOnly);
    world.kube.remove('Node', { name: 'n1' });
    const [coming] = world.kube.objects('NodeClaim');
    const creationTimestamp = '2026-01-05T11:58:00Z';
    world.kube.put('NodeClaim', { ...coming!, metadata: { ...coming!.metadata, creationTimestamp } });
    world.kube.put('Pod', podOf('a', pod('3')));
    world.kube.put('Pod', podOf('b', pod('2')));

    const plan = await planNow();
    expect(planned(plan)).toEqual(['default/b']);
    expect(plan.onExistingNodes).toBe(0);
    const explain = () => explainPod(world.deps, { namespace: 'default', name: 'a' });
    await expect(explain()).resolves.toMatchObject({ state: 'planned', node: 'c1', why: 'c1 was launched for it' });
    world.kube.put('NodeClaim', { ...world.kube.objects('NodeClaim')[0]!, status: {} });
    await world.synced();
    const why = 'c1 is to be launched for it, and has no instance yet: stowage why nodeclaim/c1';
    await expect(explain()).resolves.toMatchObject({ state: 'planned', node: 'c1', why });
    const failing = { type: 'Launched', status: 'Unknown' as const, reason: 'Unauthorized', message: 'not allowed' };
    world.kube.put('NodeClaim', { ...world.kube.objects('NodeClaim')[0]!, status: { conditions: [failing] } });
    await world.synced();
    await expect(explain()).resolves.toMatchObject({
      why: 'c1 is to be launched for it, and its launch fails: not allowed: stowage why nodeclaim/c1',
    });
    const unregistered = { type: 'Registered', status: 'Unknown' as const, reason: 'NodeNotFound', message: 'no Node' };
    const status = { providerID: 'p', conditions: [{ ...failing, status: 'True' as const }, unregistered] };
    world.kube.put('NodeClaim', { ...world.kube.objects('NodeClaim')[0]!, status });
    await world.synced();
    await expect(explain()).resolves.toMatchObject({ why: 'c1 was launched for it, and waits: no Node' });

    world.clock.now = Date.parse(creationTimestamp) + 30 * 60_000;
    const a = world.deps.cache.get('Pod', { namespace: 'default', name: 'a' })!;
    expect(lacksNode(world.deps, a)).toBe(true);
  });

  test.each<[string, Given, () => void]>([
    ['its node is gone', { nominated: 'n0' }, () => putNode('default/other', registeredToo)],
    ['its node goes', { nominated: 'n1' }, () => putNode('default/a', registeredToo, { deletionTimestamp: '2026-01-05T11:59:30Z' })], // prettier-ignore
    ['its node is to be disrupted', { nominated: 'n1' }, () => putNode('default/a', registeredToo, { taints: [taints.disrupted] })], // prettier-ignore
    [
      'its node has been up for long',
      { nominated: 'n1' },
      () => putNode('default/a', [...registeredToo, done('Initialized', '2026-01-05T11:59:39Z')], { taints: [] }),
    ],
    [
      'others have their room there',
      { nominated: 'n1' },
      () => {
        putNode('default/a', [...registeredToo, done('Initialized', '2026-01-05T11:59:50Z')], { taints: [] });
        for (const name of ['b', 'c', 'd', 'e']) world.kube.put('Pod', podOf(name, { on: 'n1' }));
      },
    ],
  ])('need a node again once %s', async (_, given, put) => {
    put();
    world.kube.put('Pod', podOf('a', given));
    await world.synced();

    const pod = world.deps.cache.get('Pod', { namespace: 'default', name: 'a' })!;
    expect(awaitedNode(world.deps, pod)).toBeUndefined();
    expect(lacksNode(world.deps, pod)).toBe(true);
    const plan = await planNow();
    expect(planned(plan).length + plan.onExistingNodes).toBe(1);
  });

  test.each<[string, readonly string[], string, boolean]>([
    ['the others leave it its room', ['b', 'c', 'd'], '1', true],
    ['a pod has ended', ['b', 'c', 'd', 'ended'], '1', true],
    ['nobody else is there, and it is too large', [], '5', true],
    ['it is the last of many', ['b', 'c', 'd'], '1001m', false],
  ])('are planned onto a node just up, where %s (provisioning/nominated-pods)', async (_, others, cpu, waits) => {
    putNode('default/a', [...registeredToo, done('Initialized', '2026-01-05T11:59:50Z')], { taints: [] });
    for (const name of others) {
      const other = podOf(name, { on: 'n1' });
      world.kube.put('Pod', name === 'ended' ? { ...other, status: { phase: 'Succeeded' } } : other);
    }
    world.kube.put('Pod', podOf('a', { spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] } }));
    await world.synced();

    const pod = world.deps.cache.get('Pod', { namespace: 'default', name: 'a' })!;
    expect(awaitedNode(world.deps, pod)?.node).toBe(waits ? 'n1' : undefined);
  });

  test.each<[string, Given, string]>([
    ['not planned there', { nominated: 'n1' }, 'default/other'],
    ['younger than the node, of the name of one that was planned', { nominated: 'n1', created: '2026-01-05T11:59:50Z' }, 'default/a'], // prettier-ignore
  ])('kube-scheduler makes room for a pod by preemption: %s (provisioning/nominated-pods)', async (_, given, names) => {
    putNode(names, [...registeredToo, done('Initialized', '2026-01-05T11:59:30Z')], { taints: [] });
    world.kube.put('Pod', podOf('a', given));
    await world.synced();

    const pod = world.deps.cache.get('Pod', { namespace: 'default', name: 'a' })!;
    expect(awaitedNode(world.deps, pod)).toEqual({ node: 'n1', own: false });
    expect(lacksNode(world.deps, pod)).toBe(false);
    const plan = await planNow();
    expect([planned(plan), plan.onExistingNodes]).toEqual([[], 0]);
  });

  test('of a starting node are known from its claim', async () => {
    putNode('default/before,default/kept', registeredToo, { taints: [] });
    world.kube.put('Pod', podOf('kept', { nominated: 'n1' }));
    world.kube.put('Pod', podOf('new'));

    await planNow();

    const [written] = world.kube.objects('NodeClaim');
    expect(written?.metadata.annotations?.[annotations.plannedPods]).toBe('default/kept,default/new');
    expect(written?.metadata.labels).toMatchObject({ [labels.zone]: 'a' });
  });
});
