import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ActivityDeps } from '../../activities/deps.js';
import type { DrainProgress } from '../../activities/termination/contract.js';
import { createDrainActivities } from '../../activities/termination/drain.js';
import { createEscalationActivities } from '../../activities/termination/escalation.js';
import { fakeDeps } from '../simulation/deps.js';
import { FakeCloud } from '../simulation/cloud/fake.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { createClusterCache } from '../../kube/cache.js';
import { createKubeClient } from '../../kube/client.js';
import { snapshotKinds } from '../../kube/snapshot.js';
import { useStack } from './shared-stack.js';

// Real evictions by the API server's own rules, as Stowage's service account, under its ClusterRole.
const { stack } = useStack(['controllers']);
const namespace = 'drain-test';
const within = { withinMs: 180_000 };

describe('draining on a real cluster', () => {
  let admin: ReturnType<typeof createKubeClient>;
  let kube: ReturnType<typeof createKubeClient>;
  let deps: ActivityDeps;
  const stopping = new AbortController();

  beforeAll(async () => {
    admin = createKubeClient({ kubeconfig: stack().adminKubeconfig ?? '', userAgent: 'drain-test' });
    kube = createKubeClient({ kubeconfig: stack().stowageKubeconfig ?? '', userAgent: 'drain-test-stowage' });
    const cache = createClusterCache({ client: kube, kinds: [...snapshotKinds, 'VolumeAttachment'] });
    await cache.start(stopping.signal);
    deps = fakeDeps({ kube, cache, cloud: new FakeCloud({ types: [] }), now: () => Date.now() });
    await observe(
      'no namespace of an earlier run',
      async () => (await admin.get('Namespace', { name: namespace })) === undefined,
      within,
    );
    await admin.create('Namespace', { metadata: { name: namespace } });
    for (const name of ['drain-a', 'drain-b']) await addNode(name);
  });
  afterAll(async () => {
    stopping.abort();
    await admin.delete('Namespace', { name: namespace });
    for (const name of ['drain-a', 'drain-b']) await admin.delete('Node', { name });
    admin.close();
    kube.close();
  });

  async function addNode(name: string): Promise<void> {
    const capacity = { cpu: '4', memory: '8Gi', pods: '20' };
    const labels = { 'kubernetes.io/hostname': name, 'drain-test': 'true', type: 'kwok' };
    await admin.create('Node', {
      metadata: { name, labels, annotations: { 'kwok.x-k8s.io/node': 'fake' } },
      status: { capacity, allocatable: capacity },
    });
    await admin.patch('Node', { name }, { status: { capacity, allocatable: capacity } }, { subresource: 'status' });
  }
  const podSpec = (graceSeconds: number) => ({
    terminationGracePeriodSeconds: graceSeconds,
    nodeSelector: { 'drain-test': 'true' },
    tolerations: [{ key: 'kwok.x-k8s.io/node', operator: 'Exists' as const }],
    containers: [{ name: 'app', image: 'registry.example/app', resources: { requests: { cpu: '100m' } } }],
  });
  async function workload(kind: 'Deployment' | 'StatefulSet', name: string, replicas: number): Promise<void> {
    const template = { metadata: { labels: { app: name } }, spec: podSpec(1) };
    const spec = { replicas, selector: { matchLabels: { app: name } }, template };
    await admin.create(kind, { metadata: { name, namespace }, spec });
    await running(name, replicas);
  }
  async function budget(name: string, spec: { minAvailable?: number; maxUnavailable?: number }): Promise<void> {
    await admin.create('PodDisruptionBudget', {
      metadata: { name, namespace },
      spec: { ...spec, selector: { matchLabels: { app: name } } },
    });
    await observe(
      `the budget ${name} being seen`,
      async () => {
        const found = await admin.get('PodDisruptionBudget', { name, namespace });
        return (found?.status?.expectedPods ?? 0) > 0;
      },
      within,
    );
  }
  const pods = async (name: string) =>
    (await admin.list('Pod', { namespace, labelSelector: `app=${name}` })).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  async function running(name: string, replicas: number): Promise<void> {
    await observe(
      `${replicas} pods of ${name} running`,
      async () => {
        const ready = (await pods(name)).filter(({ status }) => status?.phase === 'Running');
        return ready.length === replicas;
      },
      within,
    );
  }
  /** Looks, as the workflow does, until there is news. */
  const drain = async (nodeName: string, known: readonly string[] = []): Promise<DrainProgress> => {
    const since = Date.now();
    let evicted = 0;
    let blockedSince: number | undefined;
    return observe(
      'news of the drain',
      async () => {
        const progress = await createDrainActivities(deps).drainNode({
          claim: { name: 'drain-test', uid: 'none' },
          nodeName,
          known,
          since,
          ...(blockedSince === undefined ? {} : { blockedSince }),
        });
        ({ blockedSince } = progress);
        evicted += progress.evicted;
        return progress.state === 'waiting' ? undefined : { ...progress, evicted };
      },
      within,
    );
  };
  const cordon = (name: string, unschedulable: boolean) => admin.patch('Node', { name }, { spec: { unschedulable } });

  test('a StatefulSet is drained pod by pod within its PodDisruptionBudget', async () => {
    await cordon('drain-b', true);
    await workload('StatefulSet', 'db', 2);
    await budget('db', { maxUnavailable: 1 });
    await cordon('drain-b', false);
    await cordon('drain-a', true);

    let progress = await drain('drain-a');
    while (progress.state === 'blocked') progress = await drain('drain-a', progress.blockedBy);

    expect(progress.state).toBe('done');
    await running('db', 2);
    expect((await pods('db')).map(({ metadata, spec }) => `${metadata.name ?? ''} on ${spec.nodeName ?? ''}`)).toEqual([
      'db-0 on drain-b',
      'db-1 on drain-b',
    ]);
    await cordon('drain-a', false);
    await admin.delete('StatefulSet', { name: 'db', namespace });
  });

  test('a PodDisruptionBudget that can never allow an eviction is reported as such, and a restarted rollout empties the node', async () => {
    await cordon('drain-b', true);
    await workload('Deployment', 'web', 1);
    await budget('web', { minAvailable: 1 });
    await cordon('drain-b', false);
    await cordon('drain-a', true);

    const blocked = await drain('drain-a');
    expect(blocked.blockedBy).toEqual([`pdb/${namespace}/web (never)`]);
    expect(blocked.blockers?.[0]?.why).toContain('minAvailable 1 asks that 1 of 1 stay healthy');
    const held = blocked.blockers?.[0]?.pods ?? [];
    const restarted = await createEscalationActivities(deps).restartOwners({ pods: held, at: Date.now() });

    expect(restarted).toEqual({ restarted: [`Deployment ${namespace}/web`], refused: [] });
    let progress = await drain('drain-a', blocked.blockedBy);
    while (progress.state === 'blocked') progress = await drain('drain-a', progress.blockedBy);
    expect(progress).toMatchObject({ state: 'done', evicted: 0 });
    await observe(
      'the new pod alone, on the other node',
      async () => {
        const nodes = (await pods('web')).map(({ spec }) => spec.nodeName);
        return nodes.length === 1 && nodes[0] === 'drain-b';
      },
      within,
      async () =>
        JSON.stringify(
          (await pods('web')).map(({ metadata, spec, status }) => [metadata.name, spec.nodeName, status?.phase]),
        ),
    );
  });

  test('a pod that the cache lacks is read from the API server and evicted before the drain ends', async () => {
    const deaf = new AbortController();
    const cache = createClusterCache({ client: kube, kinds: [...snapshotKinds, 'VolumeAttachment'] });
    await cache.start(deaf.signal);
    // Its watches end, so that it does not see the pod.
    deaf.abort();
    await cordon('drain-b', true);
    await cordon('drain-a', false);
    await workload('Deployment', 'late', 1);
    await cordon('drain-b', false);
    await cordon('drain-a', true);
    expect(cache.podsOnNode('drain-a').map(({ metadata }) => metadata.name)).toEqual([]);

    const look = async (): Promise<DrainProgress> =>
      createDrainActivities({ ...deps, cache }).drainNode({
        ...{ claim: { name: 'drain-test', uid: 'none' }, nodeName: 'drain-a', known: [] },
        since: Date.now() - 60_000,
      });
    expect(await look()).toMatchObject({ state: 'waiting', evicted: 1 });

    await observe('the drain done', async () => (await look()).state === 'done', within);
    expect((await pods('late')).map(({ spec }) => spec.nodeName)).not.toContain('drain-a');
    await cordon('drain-a', false);
    await admin.delete('Deployment', { name: 'late', namespace });
  });
});
