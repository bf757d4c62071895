import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { annotations, finalizers, labels, taints } from '../api/labels.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import type { DrainProgress } from './contract.js';
import { createDrainActivities } from './drain.js';
import { createTerminationActivities } from './termination.js';

const claim = { name: 'c1', uid: 'uid-c1' };
const providerID = 'fake:///a/i-1';

describe('terminating a node', () => {
  let world: ActivityWorld;
  let ticking: NodeJS.Timeout | undefined;

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
    clearInterval(ticking);
    world.stop();
  });

  const put = (name: string, more: { metadata?: object; spec?: object } = {}): Pod =>
    world.kube.put('Pod', {
      metadata: { name, namespace: 'default', uid: `pod-${name}`, labels: { app: name }, ...more.metadata },
      spec: { nodeName: 'n1', containers: [], terminationGracePeriodSeconds: 30, ...more.spec },
      status: { phase: 'Running' },
    });
  const drain = async (more: { known?: string[]; deadline?: number } = {}): Promise<DrainProgress> => {
    await world.synced();
    const activities = createDrainActivities(world.deps);
    const input = { claim, nodeName: 'n1', known: [], since: world.clock.now, ...more };
    return new MockActivityEnvironment().run<[], DrainProgress, () => Promise<DrainProgress>>(() =>
      activities.drainNode(input),
    );
  };
  const begin = () =>
    createTerminationActivities(world.deps).beginTermination({ claim, deleteClaim: true, reason: 'empty' });
  const names = (): string[] => world.kube.objects('Pod').map(({ metadata }) => metadata.name ?? '');
  const budget = (name: string, disruptionsAllowed: number): void =>
    void world.kube.put('PodDisruptionBudget', {
      metadata: { name, namespace: 'default', generation: 1 },
      spec: { selector: { matchLabels: { app: name } } },
      status: { disruptionsAllowed, observedGeneration: 1 },
    });
  /** Lets the activity's clock run along with the machine's. */
  const running = (): (() => void) => {
    ticking = setInterval(() => (world.clock.now += 2000), 50);
    return () => clearInterval(ticking);
  };

  test('begins by deleting claim and node, tainting, and leaving the load balancers; again is harmless', async () => {
    const first = await begin();
    const second = await begin();

    expect(first).toMatchObject({ state: 'terminating', providerId: providerID, nodeName: 'n1', nodeReady: true });
    expect(second).toEqual(first);
    const node = await world.kube.get('Node', { name: 'n1' });
    expect(node?.spec?.taints).toEqual([taints.disrupted]);
    expect(node?.metadata.labels?.[labels.excludeFromLoadBalancers]).toBe('karpenter');
    expect(node?.metadata.deletionTimestamp).toBeDefined();
  });

  test('evicts what can go, leaves mirror and tolerating pods, and says when it is drained', async () => {
    put('web');
    put('tolerant', { spec: { tolerations: [{ key: taints.disrupted.key, operator: 'Exists' }] } });
    put('mirror', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } });

    const progress = await drain();

    expect(progress).toMatchObject({ state: 'done', evicted: 1 });
    expect(names()).toEqual(['mirror', 'tolerant']);
    expect(isTrue((await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions, 'Drained')).toBe(true);
  });

  test('critical pods and DaemonSets go last', async () => {
    const order: string[] = [];
    const evict = world.kube.evict.bind(world.kube);
    Object.assign(world.kube, {
      evict: async (pod: Parameters<typeof evict>[0]) => {
        order.push(pod.name);
        return evict(pod);
      },
    });
    const daemon = {
      metadata: { ownerReferences: [{ kind: 'DaemonSet', apiVersion: 'apps/v1', name: 'd', uid: 'd' }] },
    };
    put('a-critical-daemon', { ...daemon, spec: { priorityClassName: 'system-node-critical' } });
    put('b-critical', { spec: { priorityClassName: 'system-cluster-critical' } });
    put('c-daemon', daemon);
    put('d-plain');

    await drain();

    expect(order).toEqual(['d-plain', 'c-daemon', 'b-critical', 'a-critical-daemon']);
  });

  test('a PDB that allows nothing is named, and never violated', async () => {
    put('web');
    budget('web', 0);
    const stop = running();

    const progress = await drain();
    stop();

    expect(progress).toMatchObject({ state: 'blocked', blockedBy: ['pdb/default/web'], remaining: 1 });
    expect(names()).toEqual(['web']);
    expect(world.events.map(({ reason }) => reason)).toContain('FailedDraining');
  });

  test('tells when the PDB allows, and goes on', async () => {
    put('web');
    budget('web', 0);
    const stop = running();
    const draining = drain({ known: ['pdb/default/web'] });
    await world.synced();
    budget('web', 1);

    await expect(draining).resolves.toMatchObject({ blockedBy: [], evicted: 1 });
    await expect(drain()).resolves.toMatchObject({ state: 'done' });
    stop();
    expect(names()).toEqual([]);
  });

  test.each([annotations.doNotDisrupt, annotations.doNotEvict])(
    'a pod with %s is waited for, not evicted',
    async (key) => {
      put('holy', { metadata: { annotations: { [key]: 'true' } } });
      const stop = running();

      const progress = await drain();
      stop();

      expect(progress.blockedBy).toEqual(['pod/default/holy (do-not-disrupt)']);
      expect(names()).toEqual(['holy']);
    },
  );

  test('the deadline ends all protection, in every tier, as soon as a grace would overrun it', async () => {
    put('web', { spec: { terminationGracePeriodSeconds: 60 } });
    put('holy', {
      metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } },
      spec: { terminationGracePeriodSeconds: 60 },
    });
    put('critical', { spec: { priorityClassName: 'system-node-critical', terminationGracePeriodSeconds: 60 } });
    budget('web', 0);

    const progress = await drain({ deadline: world.clock.now + 50_000 });

    expect(progress.state).toBe('done');
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

  test('volumes that are attached are waited for until the deadline', async () => {
    world.kube.put('VolumeAttachment', {
      metadata: { name: 'va' },
      spec: { attacher: 'ebs', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
      status: { attached: true },
    });
    await world.synced();
    const activities = createDrainActivities(world.deps);
    const wait = (deadline?: number) =>
      new MockActivityEnvironment().run(() =>
        activities.awaitVolumesDetached({
          claim,
          nodeName: 'n1',
          known: [],
          since: 0,
          ...(deadline === undefined ? {} : { deadline }),
        }),
      );

    await expect(wait()).resolves.toMatchObject({ state: 'blocked', blockedBy: ['volume/pv-1'] });
    await expect(wait(world.clock.now)).resolves.toMatchObject({ state: 'done' });
    const conditions = (await world.kube.get('NodeClaim', { name: 'c1' }))?.status?.conditions;
    expect(conditionOf(conditions, 'VolumesDetached')).toMatchObject({
      status: 'False',
      reason: 'TerminationGracePeriodElapsed',
    });
  });

  test('the finalizers go last, and leave nothing', async () => {
    await begin();

    await createTerminationActivities(world.deps).finishTermination({ claim, nodeName: 'n1', reason: 'empty' });

    expect(world.kube.objects('Node')).toEqual([]);
    expect(world.kube.objects('NodeClaim')).toEqual([]);
  });

  test('an earlier deadline is stamped, a later one is not', async () => {
    const activities = createTerminationActivities(world.deps);

    await activities.setDeadline({ claim, deadline: world.clock.now + 60_000 });
    await activities.setDeadline({ claim, deadline: world.clock.now + 90_000 });

    const stamped = (await world.kube.get('NodeClaim', { name: 'c1' }))?.metadata.annotations;
    expect(stamped?.[annotations.terminationTimestamp]).toBe('2026-01-05T12:01:00Z');
  });
});
