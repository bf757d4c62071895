import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations, finalizers, labels, taints } from '../../api/labels.js';
import { blockerName } from '../../core/text.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim, nodePool, type ActivityWorld } from '../../test/builders/activity-world.js';
import type { DrainInput, DrainProgress } from './contract.js';
import { createDrainActivities } from './drain.js';
import { createTerminationActivities } from './termination.js';

const claim = { name: 'c1', uid: 'uid-c1' };
const providerID = 'fake:///a/i-1';

describe('terminating a node', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
    world.kube.put('NodeClaim', {
      ...nodeClaim('c1', { status: { providerID, nodeName: 'n1', conditions } }),
      metadata: { ...nodeClaim('c1').metadata, finalizers: [finalizers.termination] },
    });
    world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [finalizers.termination] },
      spec: { providerID },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    await world.synced();
  });
  afterEach(() => {
    world.stop();
  });

  const put = (name: string, more: { metadata?: object; spec?: object } = {}): Pod =>
    world.kube.put('Pod', {
      metadata: { name, namespace: 'default', uid: `pod-${name}`, labels: { app: name }, ...more.metadata },
      spec: { nodeName: 'n1', containers: [], terminationGracePeriodSeconds: 30, ...more.spec },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  const look = async (more: Partial<DrainInput> = {}): Promise<DrainProgress> => {
    await world.synced();
    const input = { claim, nodeName: 'n1', known: [], since: world.clock.now - 5000, ...more };
    return createDrainActivities(world.deps).drainNode(input);
  };
  /** Looks, as the workflow does, until there is news. */
  const drain = async (more: Partial<DrainInput> = {}): Promise<DrainProgress> => {
    const since = world.clock.now - 5000;
    let progress: DrainProgress;
    let evicted = 0;
    let blockedSince: number | undefined;
    do {
      progress = await look({ since, ...more, ...(blockedSince === undefined ? {} : { blockedSince }) });
      ({ blockedSince } = progress);
      evicted += progress.evicted;
      world.clock.now += 500;
    } while (progress.state === 'waiting');
    return { ...progress, evicted };
  };
  const begin = () =>
    createTerminationActivities(world.deps).beginTermination({ claim, deleteClaim: true, reason: 'empty' });
  const names = (): string[] => world.kube.objects('Pod').map(({ metadata }) => metadata.name ?? '');
  const budget = (
    name: string,
    disruptionsAllowed: number,
    spec: Omit<PodDisruptionBudget['spec'], 'selector'> = {},
    status: object = {},
    app = name,
  ): void =>
    void world.kube.put('PodDisruptionBudget', {
      metadata: { name, namespace: 'default', generation: 1 },
      spec: { selector: { matchLabels: { app } }, ...spec },
      status: { disruptionsAllowed, observedGeneration: 1, ...status },
    });
  /** Evictions from now on: in which order, and how many were under way at a time. */
  const evictions = (): { readonly order: readonly string[]; readonly most: () => number } => {
    const order: string[] = [];
    let underWay = 0;
    let most = 0;
    const evict = world.kube.evict.bind(world.kube);
    Object.assign(world.kube, {
      evict: async (pod: Parameters<typeof evict>[0]) => {
        order.push(pod.name);
        most = Math.max(most, ++underWay);
        const answer = await evict(pod);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return answer;
      },
    });
    return { order, most: () => most };
  };
  test('leaves a claim that is not being deleted any more, as in a restored cluster', async () => {
    const activities = createTerminationActivities(world.deps);

    const start = await activities.beginTermination({ claim, deleteClaim: false, reason: 'deleted' });

    expect(start).toEqual({ state: 'gone' });
    expect(world.kube.objects('Node')[0]).toMatchObject({ metadata: { name: 'n1' } });
    expect(world.kube.objects('Node')[0]?.spec?.taints ?? []).toEqual([]);
    expect(world.kube.objects('NodeClaim')[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('begins by deleting claim and node, tainting, and removing it from load balancers; a second attempt changes nothing', async () => {
    const first = await begin();
    const second = await begin();

    expect(first).toMatchObject({ state: 'terminating', providerId: providerID, nodeName: 'n1' });
    expect(second).toEqual(first);
    const node = await world.kube.get('Node', { name: 'n1' });
    expect(node?.spec?.taints).toEqual([taints.disrupted]);
    expect(node?.metadata.labels?.[labels.excludeFromLoadBalancers]).toBe('karpenter');
    expect(node?.metadata.deletionTimestamp).toBeDefined();
  });

  // Rule `termination/launch-stops`.
  test.each([
    [['Launched'], true],
    [['Launched', 'Registered'], true],
    [['Launched', 'Registered', 'Initialized'], false],
  ])('a launch may be in progress for a claim that is %j: %s', async (types, expected) => {
    const conditions = types.map((type) => ({ type, status: 'True' as const }));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID, nodeName: 'n1', conditions } }));
    await world.synced();

    const start = await begin();

    expect(start).toMatchObject({ state: 'terminating', providerId: providerID });
    expect('mayBeLaunching' in start).toBe(expected);
  });

  // Rule `termination/long-grace`.
  test.each([
    [3600, ['default/slow']],
    [30, undefined],
  ])('a pod with %d seconds to its end: %s is named', async (seconds, pods) => {
    const until = world.clock.now + seconds * 1000;
    put('slow', { metadata: { deletionTimestamp: new Date(until).toISOString() } });

    const { ending, state } = await look();

    expect(state).toBe('waiting');
    expect(ending).toEqual(pods === undefined ? undefined : { pods, podCount: 1, until });
  });

  test('leaves a node of another instance with the same name', async () => {
    const other = {
      metadata: { name: 'n1', finalizers: [finalizers.termination] },
      spec: { providerID: 'fake:///a/i-2' },
      status: { conditions: [{ type: 'Ready', status: 'True' as const }] },
    };
    world.kube.remove('Node', { name: 'n1' });
    world.kube.put('Node', other);
    await world.synced();

    expect(await begin()).not.toHaveProperty('nodeName');
    await createTerminationActivities(world.deps).finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    const node = await world.kube.get('Node', { name: 'n1' });
    expect(node).toMatchObject({ metadata: { finalizers: [finalizers.termination] }, spec: other.spec });
    expect(node?.spec?.taints).toBeUndefined();
    expect(node?.metadata.labels).toBeUndefined();
    expect(node?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('leaves the finalizer of a Node of another instance with the same name, which is being deleted', async () => {
    await begin();
    world.kube.remove('Node', { name: 'n1' });
    world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [finalizers.termination], deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: { providerID: 'fake:///a/i-2' },
    });
    await world.synced();

    await createTerminationActivities(world.deps).finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    expect((await world.kube.get('Node', { name: 'n1' }))?.metadata.finalizers).toEqual([finalizers.termination]);
  });

  test('removes both Nodes of a kubelet that registered under another name, with the pods of both (termination/several-nodes)', async () => {
    world.kube.put('Node', { metadata: { name: 'n2' }, spec: { providerID }, status: { conditions: [] } });
    await world.synced();
    put('old');
    put('new', { spec: { nodeName: 'n2' } });

    expect(await begin()).toMatchObject({ nodeName: 'n1' });
    expect(await drain()).toMatchObject({ state: 'done', evicted: 2 });
    expect((await world.kube.get('Node', { name: 'n2' }))?.spec?.taints).toEqual([taints.disrupted]);
    await createTerminationActivities(world.deps).finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    expect([...names(), ...world.kube.objects('Node').map(({ metadata }) => metadata.name)]).toEqual([]);
  });

  test('keeps a claim while another finalizer keeps its Node, and says which (termination/node-first)', async () => {
    const activities = createTerminationActivities(world.deps);
    const held = await world.kube.get('Node', { name: 'n1' });
    const both = [...(held?.metadata.finalizers ?? []), finalizers.termination, 'example.com/registry'];
    world.kube.put('Node', { ...held!, metadata: { ...held!.metadata, finalizers: [...new Set(both)] } });
    await world.synced();
    await begin();
    const finish = () => activities.finishTermination({ claim, nodeName: 'n1', reason: 'empty' });
    const claims = () => world.kube.objects('NodeClaim').filter(({ metadata }) => metadata.uid === claim.uid);

    await finish();
    await finish();

    expect(world.kube.objects('Node')[0]?.metadata.finalizers).toEqual(['example.com/registry']);
    expect(claims()[0]?.metadata.finalizers).toContain(finalizers.termination);
    expect(claims()[0]?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'InstanceTerminating',
        status: 'True',
        message: "the instance is gone, and others' finalizers hold n1 (example.com/registry)",
      }),
    );

    world.kube.remove('Node', { name: 'n1' });
    await finish();

    expect(claims()).toEqual([]);
  });

  test('finds a registered Node by its instance where its name is gone (termination/several-nodes)', async () => {
    world.kube.remove('Node', { name: 'n1' });
    world.kube.put('Node', { metadata: { name: 'n2' }, spec: { providerID }, status: { conditions: [] } });
    await world.synced();

    expect(await begin()).toMatchObject({ nodeName: 'n2' });
  });

  describe('taints and labels removed by hand during a drain (termination/marks-are-restored)', () => {
    const marked = {
      metadata: { labels: { [labels.excludeFromLoadBalancers]: 'karpenter' }, deletionTimestamp: expect.any(String) },
      spec: { taints: [taints.disrupted] },
    };
    const nodeNow = () => world.kube.get('Node', { name: 'n1' });

    test('are written again at the next look, whatever the drain waits for', async () => {
      put('web', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
      await begin();
      await world.kube.patch('Node', { name: 'n1' }, { metadata: { labels: null }, spec: { taints: null } });

      expect(await look()).toMatchObject({ remaining: 1 });

      expect(await nodeNow()).toMatchObject(marked);
    });

    test('are written again while volumes are waited for', async () => {
      await begin();
      await world.kube.patch('Node', { name: 'n1' }, { spec: { taints: null } });
      await world.synced();

      await createDrainActivities(world.deps).awaitVolumesDetached({
        ...{ claim, nodeName: 'n1', known: [], since: world.clock.now },
      });

      expect(await nodeNow()).toMatchObject(marked);
    });

    test.each(['n1', 'n2'])(
      'are written on a Node that the kubelet created anew, as %s, which is drained',
      async (name) => {
        await begin();
        world.kube.remove('Node', { name: 'n1' });
        const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
        world.kube.put('Node', { metadata: { name, uid: 'anew' }, spec: { providerID }, status });
        put('web', { spec: { nodeName: name } });

        expect(await drain()).toMatchObject({ state: 'done', evicted: 1 });

        expect(await world.kube.get('Node', { name })).toMatchObject(marked);
      },
    );

    test('are not written on a Node of another instance with that name', async () => {
      await begin();
      world.kube.remove('Node', { name: 'n1' });
      world.kube.put('Node', { metadata: { name: 'n1', uid: 'anew' }, spec: { providerID: 'fake:///a/i-2' } });

      await look();

      expect((await nodeNow())?.spec).toEqual({ providerID: 'fake:///a/i-2' });
    });

    test('do not stop the drain where the API server refuses them', async () => {
      put('web');
      await begin();
      await world.kube.patch('Node', { name: 'n1' }, { spec: { taints: null } });
      await world.synced();
      const refusing = {
        ...world.deps.kube,
        patch: () => Promise.reject(new DomainError('Denied', 'an admission webhook says no')),
      };
      const drains = createDrainActivities({ ...world.deps, kube: refusing });

      const input = { claim, nodeName: 'n1', known: [], since: world.clock.now - 5000 };
      expect(await drains.drainNode(input)).toMatchObject({ evicted: 1 });
    });
  });

  // Rule `termination/conditions-are-informative`.
  test.each(['Denied', 'Invalid'] as const)('refused conditions (%s) do not stop a termination', async (type) => {
    put('web');
    const { kube } = world.deps;
    const patch = kube.patch.bind(kube);
    let refused = 0;
    const refusing: typeof kube.patch = async (kind, ref, change, options) => {
      if (kind !== 'NodeClaim' || options?.subresource !== 'status') return patch(kind, ref, change, options);
      refused += 1;
      throw new DomainError(type, 'no nodeclaims/status today');
    };
    Object.assign(world.deps, { kube: { ...kube, patch: refusing } });
    const termination = createTerminationActivities(world.deps);

    expect(await begin()).toMatchObject({ state: 'terminating', nodeName: 'n1' });
    expect(await drain()).toMatchObject({ state: 'done', evicted: 1 });
    await createDrainActivities(world.deps).awaitVolumesDetached({
      ...{ claim, nodeName: 'n1', known: [], since: world.clock.now },
    });
    await termination.finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    expect(refused).toBeGreaterThan(0);
    expect([...names(), ...world.kube.objects('Node'), ...world.kube.objects('NodeClaim')]).toEqual([]);
  });

  test('drained pods are counted by the reason of the disruption (metrics/drained)', async () => {
    const counted: [string, unknown][] = [];
    Object.assign(world.deps.metrics, { count: (name: string, own: object) => void counted.push([name, own]) });
    put('web');
    await drain({ reason: 'deleted' });
    const { status } = world.kube.objects('NodeClaim')[0]!;
    const disrupted = { type: 'DisruptionReason', status: 'True', reason: 'Underutilized' } as const;
    world.kube.put('NodeClaim', {
      ...world.kube.objects('NodeClaim')[0]!,
      status: { ...status, conditions: [...(status?.conditions ?? []), disrupted] },
    });
    put('api', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
    await drain({ deadline: world.clock.now });

    expect(counted.filter(([name]) => name === 'pods_drained_total')).toEqual([
      ['pods_drained_total', { reason: '' }],
      ['pods_drained_total', { reason: 'Underutilized' }],
    ]);
  });

  test('evicts what can be evicted, leaves mirror pods and pods that tolerate the taint, and says when the node is drained', async () => {
    put('web');
    put('tolerant', { spec: { tolerations: [{ key: taints.disrupted.key, operator: 'Exists' }] } });
    put('mirror', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } });
    const counted: [string, unknown][] = [];
    Object.assign(world.deps.metrics, { count: (name: string, own: object) => void counted.push([name, own]) });

    const progress = await drain();

    expect(counted).toContainEqual(['nodes_drained_total', { nodepool: 'default' }]);

    expect(progress).toMatchObject({ state: 'done', evicted: 1 });
    expect(names()).toEqual(['mirror', 'tolerant']);
    expect(isTrue((await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions, 'Drained')).toBe(true);
  });

  test('reads the remaining pods from the API server before a drain ends, in case the cache is behind', async () => {
    const warned: string[] = [];
    Object.assign(world.deps.cache, { podsOnNode: () => [] });
    Object.assign(world.deps.log, { warn: (_: object, message: string) => void warned.push(message) });
    put('web');
    put('held', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });

    const progress = await drain();

    expect(progress).toMatchObject({ state: 'blocked', blockedBy: ['pod/default/held (do-not-disrupt)'], evicted: 1 });
    expect(names()).toEqual(['held']);
    expect(isTrue((await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions, 'Drained')).toBe(false);
    expect([...new Set(warned)]).toEqual(['the cache lacks pods that a drain waits for']);
  });

  test('critical pods and DaemonSets are evicted last (termination/tiers)', async () => {
    const { order } = evictions();
    const owned = (apiVersion: string) => ({
      metadata: { ownerReferences: [{ kind: 'DaemonSet', apiVersion, name: 'd', uid: 'd' }] },
    });
    const daemon = owned('apps/v1');
    put('a-critical-daemon', { ...daemon, spec: { priorityClassName: 'system-node-critical' } });
    put('b-critical', { spec: { priorityClassName: 'system-cluster-critical' } });
    put('c-daemon', daemon);
    put('d-of-another-group', owned('apps.kruise.io/v1alpha1'));
    put('d-plain');

    await drain();

    expect(order).toEqual(['d-of-another-group', 'd-plain', 'c-daemon', 'b-critical', 'a-critical-daemon']);
  });

  test('a PodDisruptionBudget that allows no eviction is named, and never violated (termination/eviction)', async () => {
    put('web');
    budget('web', 0);

    const progress = await drain();

    expect(progress).toMatchObject({ state: 'blocked', blockedBy: ['pdb/default/web'], remaining: 1 });
    expect(names()).toEqual(['web']);
    expect(world.events.map(({ reason }) => reason)).toContain('FailedDraining');
  });

  test('says when the PodDisruptionBudget allows the eviction, and goes on (termination/eviction)', async () => {
    put('web');
    budget('web', 0);
    const draining = drain({ known: ['pdb/default/web'] });
    await world.synced();
    budget('web', 1);

    await expect(draining).resolves.toMatchObject({ blockedBy: [], evicted: 1 });
    await expect(drain()).resolves.toMatchObject({ state: 'done' });
    expect(names()).toEqual([]);
  });

  test.each([annotations.doNotDisrupt, annotations.doNotEvict])(
    'a pod with %s is waited for, not evicted',
    async (key) => {
      put('holy', { metadata: { annotations: { [key]: 'true' } } });

      const progress = await drain();

      expect(progress.blockedBy).toEqual(['pod/default/holy (do-not-disrupt)']);
      expect(names()).toEqual(['holy']);
    },
  );

  // Rule `termination/do-not-disrupt`.
  test("do-not-disrupt with a duration protects from the pod's start until it is over, with events", async () => {
    const mark = { metadata: { annotations: { [annotations.doNotDisrupt]: '10m' } } };
    const startTime = new Date(world.clock.now - 575_000).toISOString();
    world.kube.put('Pod', { ...put('timed', mark), status: { phase: 'Running', startTime } });

    const blocked = await drain();
    const evicted = await drain({ known: blocked.blockedBy });

    expect(blocked.blockers).toEqual([
      {
        cause: 'do-not-disrupt',
        name: 'pod/default/timed (do-not-disrupt)',
        why: 'is marked karpenter.sh/do-not-disrupt until 2026-01-05T12:00:25Z',
        pods: ['default/timed'],
        podCount: 1,
      },
    ]);
    expect(evicted).toMatchObject({ evicted: 1 });
    const reasons = world.events.map(({ reason }) => reason);
    expect(reasons).toContain('DoNotDisruptUntil');
    expect(reasons).toContain('DoNotDisruptGracePeriodElapsed');
  });

  // Rule `candidates/do-not-disrupt-pods`.
  test.each([
    ['no duration and not true', 'yes'],
    ['zero', '0s'],
  ])('do-not-disrupt that is %s protects nothing, and is an event', async (_name, value) => {
    put('odd', { metadata: { annotations: { [annotations.doNotDisrupt]: value } } });

    await expect(drain()).resolves.toMatchObject({ state: 'done', evicted: 1 });
    expect(world.events.map(({ reason }) => reason)).toContain('InvalidDoNotDisruptAnnotation');
  });

  const causes: [string, () => void, object][] = [
    [
      'a budget that allows nothing now',
      () => budget('web', 0, { minAvailable: 1 }, { expectedPods: 2, desiredHealthy: 1, currentHealthy: 1 }),
      {
        cause: 'pdb',
        name: 'pdb/default/web',
        why: 'allows no eviction now: 1 of 2 pods is healthy, 1 must be',
      },
    ],
    [
      'maxUnavailable 0',
      () => budget('web', 0, { maxUnavailable: 0 }),
      {
        cause: 'pdb-never',
        name: 'pdb/default/web (never)',
        why: 'can never allow an eviction: maxUnavailable is 0',
      },
    ],
    [
      'minAvailable equal to the replicas',
      () => budget('web', 0, { minAvailable: 1 }, { expectedPods: 1, desiredHealthy: 1, currentHealthy: 1 }),
      {
        cause: 'pdb-never',
        name: 'pdb/default/web (never)',
        why: 'can never allow an eviction: minAvailable 1 asks that 1 of 1 stay healthy',
      },
    ],
    [
      'two budgets',
      () => {
        budget('web', 1);
        budget('web-too', 1, {}, {}, 'web');
      },
      {
        cause: 'several-pdbs',
        name: 'pdb/default/web+web-too (several)',
        why: '2 PodDisruptionBudgets select the pod, and the eviction API refuses more than one',
      },
    ],
    [
      'a pod whose end a finalizer holds up',
      () => {
        world.kube.remove('Pod', { name: 'web', namespace: 'default' });
        const deletionTimestamp = '2026-01-05T12:00:00Z';
        put('web', { metadata: { deletionTimestamp, finalizers: ['example.com/backup'] } });
      },
      {
        cause: 'finalizers',
        name: 'pod/default/web (finalizers)',
        why: 'was to end at 2026-01-05T12:00:00Z, and finalizers hold it: example.com/backup',
      },
    ],
    [
      'a pod whose kubelet is silent',
      () => {
        world.kube.remove('Pod', { name: 'web', namespace: 'default' });
        put('web', { metadata: { deletionTimestamp: '2026-01-05T12:00:00Z' } });
      },
      {
        cause: 'terminating',
        name: 'pod/default/web (terminating)',
        why: 'was to end at 2026-01-05T12:00:00Z, and its kubelet has not said that it did',
      },
    ],
  ];
  test.each(causes)('blockers of a drain are distinguished: %s', async (_name, prepare, blocker) => {
    put('web');
    prepare();

    const progress = await drain();

    expect(progress.blockers).toEqual([{ ...blocker, pods: ['default/web'], podCount: 1 }]);
    expect(names()).toEqual(['web']);
    const drained = conditionOf((await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions, 'Drained');
    expect(drained).toMatchObject({ status: 'Unknown', reason: 'Draining' });
    expect(drained?.message).toContain(blockerName((blocker as { name: string }).name));
  });

  describe('a pod whose eviction an admission webhook refuses', () => {
    const refuse = (name: string, error: Error): void => {
      for (const verb of ['evict', 'delete'] as const) {
        const real = world.kube[verb].bind(world.kube) as (...all: unknown[]) => Promise<unknown>;
        const isIt = (all: readonly unknown[]): boolean => all.some((one) => (one as { name?: string }).name === name);
        const mocked = (...all: unknown[]): Promise<unknown> => (isIt(all) ? Promise.reject(error) : real(...all));
        Object.assign(world.kube, { [verb]: mocked });
      }
    };
    const denied = new DomainError('Denied', 'evict Pod default/a-kafka: drains are refused', { status: 403 });

    test('blocks only itself, and says why', async () => {
      put('a-kafka', { spec: { terminationGracePeriodSeconds: 90 } });
      put('b-web');
      budget('kafka', 1, {}, {}, 'a-kafka');
      refuse('a-kafka', denied);

      const progress = await drain();

      expect(names()).toEqual(['a-kafka']);
      expect(progress.blockers).toEqual([
        {
          cause: 'eviction',
          name: 'pod/default/a-kafka (refused)',
          why: 'cannot be evicted: evict Pod default/a-kafka: drains are refused',
          pods: ['default/a-kafka'],
          podCount: 1,
        },
      ]);
      expect(world.events.filter(({ reason }) => reason === 'FailedDraining')).not.toEqual([]);
    });

    test('does not keep the others from being deleted at the deadline', async () => {
      put('a-kafka');
      put('b-holy', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
      refuse('a-kafka', denied);

      const progress = await drain({ deadline: world.clock.now });

      expect(names()).toEqual(['a-kafka']);
      expect(progress.blockedBy).toEqual(['pod/default/a-kafka (refused)']);
    });

    test.each([
      ['does not answer', new DomainError('Unavailable', 'connect ECONNREFUSED')],
      ['throttles', new DomainError('Throttled', 'slow down', { status: 429 })],
    ])('differs from an API server that %s: the activity is retried', async (_name, error) => {
      put('a-kafka');
      refuse('a-kafka', error);

      await expect(drain()).rejects.toThrow(error.message);
    });
  });

  test('several pods behind one PodDisruptionBudget are one blocker, and blockers without an end come first', async () => {
    for (const name of ['web', 'web-2', 'web-3']) put(name, { metadata: { labels: { app: 'web' } } });
    budget('web', 0, { maxUnavailable: 0 });
    put('holy', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });

    const progress = await drain();

    expect(progress.blockedBy).toEqual(['pdb/default/web (never)', 'pod/default/holy (do-not-disrupt)']);
    expect(progress.blockers?.[0]).toMatchObject({ podCount: 3 });
    expect(progress).toMatchObject({ remaining: 4, longestGraceMs: 30_000 });
  });

  test('every grace period that the API server accepts gives a valid time', async () => {
    put('endless', {
      metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } },
      spec: { terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER },
    });

    const { longestGraceMs = 0 } = await drain();

    expect(new Date(world.clock.now + longestGraceMs).getUTCFullYear()).toBe(2318);
  });

  // Rule `termination/drained-pods`.
  test('a pod that terminates for more than a minute past its grace is not waited for', async () => {
    put('gone', { metadata: { deletionTimestamp: '2026-01-05T11:58:59Z', finalizers: ['example.com/backup'] } });

    await expect(drain()).resolves.toMatchObject({ state: 'done', evicted: 0 });
  });

  test('within a tier pods with the longest grace period are evicted first', async () => {
    const { order } = evictions();
    put('a-short', { spec: { terminationGracePeriodSeconds: 5 } });
    put('b-long', { spec: { terminationGracePeriodSeconds: 90 } });
    put('c-default', { spec: { terminationGracePeriodSeconds: undefined } });

    await drain();

    expect(order).toEqual(['b-long', 'c-default', 'a-short']);
  });

  test('with equal grace periods the largest pods are evicted first, a few at a time', async () => {
    const { order, most } = evictions();
    const node = (await world.kube.get('Node', { name: 'n1' }))!;
    world.kube.put('Node', { ...node, status: { ...node.status, allocatable: { cpu: '8', memory: '64Gi' } } });
    const asking = (name: string, cpu: string, memory: string): Pod =>
      put(name, { spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory } } }] } });
    asking('a-small', '500m', '1Gi');
    asking('b-memory', '1', '32Gi');
    asking('c-cpu', '3', '1Gi');
    for (let n = 0; n < 9; n++) asking(`d-${n}`, '100m', '100Mi');

    await drain();

    expect(order.slice(0, 3)).toEqual(['b-memory', 'c-cpu', 'a-small']);
    expect(order).toHaveLength(12);
    expect(most()).toBe(5);
  });

  test('before the instance ends later tiers begin in time, and a PodDisruptionBudget still applies', async () => {
    put('plain');
    budget('plain', 0);
    put('critical', { spec: { priorityClassName: 'system-node-critical', terminationGracePeriodSeconds: 60 } });

    const progress = await drain({ instanceEndsAt: world.clock.now + 50_000 });

    expect(progress).toMatchObject({ state: 'blocked', evicted: 1 });
    expect(names()).toEqual(['plain']);
  });

  // Rule `interruption/replaced-first`.
  test('while a replacement is awaited only pods whose grace period leaves no time are evicted, whatever their tier', async () => {
    put('a-long', { spec: { terminationGracePeriodSeconds: 600 } });
    put('b-middle', { spec: { terminationGracePeriodSeconds: 60 } });
    put('c-default');
    put('d-critical', { spec: { priorityClassName: 'system-node-critical', terminationGracePeriodSeconds: 300 } });
    put('e-held', { spec: { terminationGracePeriodSeconds: 600 } });
    budget('e-held', 0);
    const ends = { instanceEndsAt: world.clock.now + 120_000, marginMs: 20_000 };
    const evictDue = async () => {
      await world.synced();
      const input = { claim, nodeName: 'n1', known: [], since: world.clock.now, ...ends };
      return createDrainActivities(world.deps).evictDue(input);
    };

    // The budget may let its pod go later.
    expect(await evictDue()).toEqual({ evicted: 2, nextAt: world.clock.now + 5001 });
    expect(names()).toEqual(['b-middle', 'c-default', 'e-held']);
    world.clock.now += 40_001;
    expect(await evictDue()).toEqual({ evicted: 1, nextAt: world.clock.now + 5001 });
    expect(names()).toEqual(['c-default', 'e-held']);
    world.clock.now += 30_000;
    expect(await evictDue()).toEqual({ evicted: 1 });
    expect((await world.kube.get('Node', { name: 'n1' }))?.spec?.taints).toBeUndefined();
  });

  // Given a recreated pod with the same name, then the old queue entry does not evict it.
  test('a pod created anew under the same name is another pod', async () => {
    put('db-0', { metadata: { uid: 'old' } });
    await world.synced();
    const answer = await world.kube.evict({ namespace: 'default', name: 'db-0', uid: 'older' });

    expect(answer).toEqual({ outcome: 'gone' });
    expect(names()).toEqual(['db-0']);
  });

  // Rule `termination/lost-instance`.
  test('a node that lost its instance is drained at once, whatever its pods require', async () => {
    put('holy', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
    world.kube.put('Node', {
      metadata: { name: 'n1' },
      spec: { providerID },
      status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
    });
    world.kube.put('VolumeAttachment', {
      metadata: { name: 'va' },
      spec: { attacher: 'ebs', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
      status: { attached: true },
    });

    await expect(drain()).resolves.toMatchObject({ state: 'done', instanceGone: true, evicted: 0 });
    const input = { claim, nodeName: 'n1', known: [], since: 0 };
    const volumes = createDrainActivities(world.deps).awaitVolumesDetached(input);
    await expect(volumes).resolves.toMatchObject({ state: 'done', instanceGone: true });
    expect(names()).toEqual(['holy']);
  });

  test('a node that is NotReady while its instance runs is drained', async () => {
    world.cloud.addOrphan({
      providerId: providerID,
      instanceId: 'i-1',
      state: 'running',
      instanceType: 'm5.xlarge',
      zone: 'a',
      capacityType: 'spot',
      launchedAt: 0,
      tags: {},
      labels: {},
    });
    put('web');
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID }, status: { conditions: [] } });

    const progress = await drain();

    expect(progress).toMatchObject({ state: 'done', evicted: 1 });
    expect(progress.instanceGone).toBeUndefined();
  });

  test('the deadline ends all protection in every tier, as soon as a grace period would exceed it (termination/tiers, termination/deadline)', async () => {
    put('web', { spec: { terminationGracePeriodSeconds: 60 } });
    put('holy', {
      metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } },
      spec: { terminationGracePeriodSeconds: 60 },
    });
    put('critical', { spec: { priorityClassName: 'system-node-critical', terminationGracePeriodSeconds: 60 } });
    budget('web', 0);
    const graces: unknown[] = [];
    const remove = world.kube.delete.bind(world.kube);
    Object.assign(world.kube, {
      delete: async (...args: Parameters<typeof remove>) => {
        graces.push(args[2]?.gracePeriodSeconds);
        return remove(...args);
      },
    });

    const progress = await drain({ deadline: world.clock.now + 50_000 });

    expect(progress.state).toBe('done');
    expect(names()).toEqual([]);
    expect(graces).toEqual([50, 50, 50]);
  });

  // Rule `termination/forced-pods`.
  test('a look reports the pods that it deleted past the deadline, and not those that it evicted', async () => {
    put('holy', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
    put('plain');

    const before = await look({ deadline: world.clock.now + 3_600_000 });
    const after = await look({ deadline: world.clock.now });

    expect(before).toMatchObject({ evicted: 1 });
    expect(before).not.toHaveProperty('forced');
    expect(after).toMatchObject({ evicted: 1, forced: { pods: ['default/holy'], podCount: 1 } });
  });

  test('an earlier deadline written to the claim during the drain applies (termination/deadline)', async () => {
    const stamp = async (at: number): Promise<void> => {
      const live = world.kube.objects('NodeClaim')[0]!;
      const stamped = { [annotations.terminationTimestamp]: new Date(at).toISOString() };
      world.kube.put('NodeClaim', { ...live, metadata: { ...live.metadata, annotations: stamped } });
      await world.synced();
    };
    const inAnHour = world.clock.now + 3_600_000;
    put('holy', { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });

    await stamp(inAnHour + 1000);
    const later = await look({ deadline: inAnHour });
    expect(later).toMatchObject({ evicted: 0 });
    expect(later).not.toHaveProperty('deadline');
    await stamp(world.clock.now);
    const forced = { pods: ['default/holy'], podCount: 1 };
    expect(await look({ deadline: inAnHour })).toMatchObject({ evicted: 1, forced, deadline: world.clock.now });
  });

  // Otherwise the person who ordered it gets no answer: the stamp would seem to be of another order.
  test.each([0, 1, 999])(
    'the deadline written for this drain counts as no earlier one, %d ms after a full second',
    async (ms) => {
      const deadline = world.clock.now + 60_000 + ms;

      await createTerminationActivities(world.deps).setDeadline({ claim, deadline });
      await world.synced();

      expect(await look({ deadline })).not.toHaveProperty('deadline');
      expect(await look({ deadline: deadline + 1000 })).toMatchObject({ deadline: world.clock.now + 60_000 });
    },
  );

  test.each([
    ['pends again', { nodeName: undefined }, 'uid-of-holy'],
    ['is on another node', { nodeName: 'n2' }, 'uid-of-holy'],
    ['is another of its name', { nodeName: 'n1' }, 'another'],
  ])('past the deadline a pod that %s by the restored API server is not deleted', async (_, spec, uid) => {
    put('holy', { metadata: { uid: 'uid-of-holy', annotations: { [annotations.doNotDisrupt]: 'true' } } });
    await world.synced();
    const get = world.kube.get.bind(world.kube);
    Object.assign(world.kube, {
      get: async (...args: Parameters<typeof get>) => {
        const live = (await get(...args)) as Pod;
        if (args[0] !== 'Pod') return live;
        return { ...live, metadata: { ...live.metadata, uid }, spec: { ...live.spec, ...spec } };
      },
    });

    const after = await look({ deadline: world.clock.now });

    expect(after).toMatchObject({ state: 'waiting', evicted: 0 });
    expect(after).not.toHaveProperty('forced');
    expect(names()).toEqual(['holy']);
  });

  test('a pod bound while the node was tainted is seen within five seconds, and evicted (termination/five-seconds)', async () => {
    const since = world.clock.now;
    await expect(look({ since })).resolves.toMatchObject({ state: 'waiting', dueAt: since + 5000 });
    put('late');
    const progress = await drain({ since });

    expect(progress).toMatchObject({ state: 'done', evicted: 1 });
    expect(names()).toEqual([]);
  });

  test('a pod of the same name on another node is not touched', async () => {
    put('web');
    world.kube.put('Pod', {
      metadata: { name: 'other', namespace: 'default', uid: 'pod-other' },
      spec: { nodeName: 'n2', containers: [] },
      status: { phase: 'Running' },
    });

    await drain();

    expect(names()).toEqual(['other']);
  });

  // Rule `termination/volumes`.
  test('attached volumes are waited for until the deadline', async () => {
    world.kube.put('VolumeAttachment', {
      metadata: { name: 'va' },
      spec: { attacher: 'ebs', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
      status: { attached: true },
    });
    await world.synced();
    const activities = createDrainActivities(world.deps);
    const wait = (deadline?: number) =>
      activities.awaitVolumesDetached({
        claim,
        nodeName: 'n1',
        known: [],
        since: 0,
        ...(deadline === undefined ? {} : { deadline }),
      });

    await expect(wait()).resolves.toMatchObject({ state: 'blocked', blockedBy: ['volume/pv-1'] });
    await expect(wait(world.clock.now)).resolves.toMatchObject({ state: 'done' });
    const conditions = (await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions;
    expect(conditionOf(conditions, 'VolumesDetached')).toMatchObject({
      status: 'False',
      reason: 'TerminationGracePeriodElapsed',
    });
  });

  // Given VolumeAttachments of a tolerating pod only, then termination does not wait.
  test('volumes of pods that stay are not waited for, nor attachments without a volume name', async () => {
    const attach = (name: string, source: object): void =>
      void world.kube.put('VolumeAttachment', {
        metadata: { name },
        spec: { attacher: 'ebs', nodeName: 'n1', source },
        status: { attached: true },
      });
    const claimVolume = (name: string, volumeName: string): void =>
      void world.kube.put('PersistentVolumeClaim', { metadata: { name, namespace: 'default' }, spec: { volumeName } });
    attach('va-1', { persistentVolumeName: 'pv-1' });
    attach('va-2', { persistentVolumeName: 'pv-2' });
    attach('va-3', {});
    claimVolume('data', 'pv-1');
    claimVolume('agent-scratch', 'pv-2');
    put('agent', {
      spec: {
        tolerations: [{ operator: 'Exists' }],
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
        ],
      },
    });
    await world.synced();
    const input = { claim, nodeName: 'n1', known: [], since: 0 };

    const progress = await createDrainActivities(world.deps).awaitVolumesDetached(input);

    expect(progress).toMatchObject({ state: 'done' });
  });

  // Rule `events/protection-ends`.
  test('the result has how long pods take, when protection ends, and the escalation steps taken', async () => {
    put('slow', { spec: { terminationGracePeriodSeconds: 90 } });
    world.kube.put('NodePool', { ...nodePool('default'), metadata: { name: 'default', labels: { team: 'shop' } } });
    const steps = [
      { after: '5m', action: 'Notify' },
      { after: '1h30m', action: 'Force' },
    ];
    const policy = (name: string, weight: number, drainEscalation: object[]): void =>
      void world.kube.put('DisruptionPolicy', {
        metadata: { name },
        spec: { nodePoolSelector: { matchLabels: { team: 'shop' } }, weight, drainEscalation },
      } as never);
    policy('light', 1, []);
    policy('heavy', 2, steps);
    await world.synced();
    const deadline = world.clock.now + 600_000;

    const start = await createTerminationActivities(world.deps).beginTermination({
      claim,
      deleteClaim: true,
      reason: 'empty',
      deadline,
    });

    expect(start).toMatchObject({
      longestGraceMs: 90_000,
      deadline,
      escalation: [
        { afterMs: 300_000, action: 'Notify' },
        { afterMs: 5_400_000, action: 'Force' },
      ],
    });
    const outcome = world.events.filter(({ reason }) => reason === 'TerminationGracePeriodExpiring');
    expect(outcome.map(({ regarding, message }) => [regarding.kind, message])).toEqual([
      ['NodeClaim', 'All pods will be deleted by 2026-01-05T12:10:00Z'],
      ['Node', 'All pods will be deleted by 2026-01-05T12:10:00Z'],
    ]);
  });

  // Rule `termination/deadline`.
  test.each(['garbage', '10', '2026-01-05', '2026-13-45T99:99:99Z', ''])(
    'the annotation %j is no deadline: that of terminationGracePeriod applies, and is written',
    async (stamped) => {
      const live = world.kube.objects('NodeClaim')[0]!;
      world.kube.put('NodeClaim', {
        ...live,
        metadata: { ...live.metadata, annotations: { [annotations.terminationTimestamp]: stamped } },
        spec: { ...live.spec, terminationGracePeriod: '1m' },
      });

      const start = await begin();

      expect(start).toMatchObject({ deadline: world.clock.now + 60_000 });
      const after = (await world.kube.get('NodeClaim', { name: 'c1' }))?.metadata.annotations;
      expect(after?.[annotations.terminationTimestamp]).toBe('2026-01-05T12:01:00Z');
    },
  );

  test('the finalizers are removed last, and nothing is left', async () => {
    await begin();

    await createTerminationActivities(world.deps).finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    expect(world.kube.objects('Node')).toEqual([]);
    expect(world.kube.objects('NodeClaim')).toEqual([]);
  });

  test('an earlier deadline is written, a later one is not', async () => {
    const activities = createTerminationActivities(world.deps);

    await activities.setDeadline({ claim, deadline: world.clock.now + 60_000 });
    await activities.setDeadline({ claim, deadline: world.clock.now + 90_000 });

    const stamped = (await world.kube.get('NodeClaim', { name: 'c1' }))?.metadata.annotations;
    expect(stamped?.[annotations.terminationTimestamp]).toBe('2026-01-05T12:01:00Z');
  });
});
