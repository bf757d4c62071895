import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import type { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { observe } from '../../tools/stack/demo/observe.js';
import type { Stack } from '../../tools/stack/stack.js';
import type { KubeClient } from '../../kube/port.js';
import { kubectl } from './kubectl.js';
import { createNodeClass, createNodePool, startLiveWorld, within, type LiveWorld } from './world.js';

// A static pool on real parts: scaled by kubectl, drifting, and drained when it is deleted, with the process killed on the way.
let world: LiveWorld;
let stack: Stack;
let kube: KubeClient;
let cloud: CloudProxyControl;

const pool = 'static';
const gates = process.env['FEATURE_GATES'];

beforeAll(async () => {
  process.env['FEATURE_GATES'] = 'StaticCapacity=true';
  world = await startLiveWorld('static');
  ({ stack, kube, cloud } = world);
});

afterAll(async () => {
  if (gates === undefined) delete process.env['FEATURE_GATES'];
  else process.env['FEATURE_GATES'] = gates;
  await world.stop();
});

async function createPool(replicas: number, limit: number): Promise<void> {
  await createNodeClass(world, pool);
  const requirements = [
    { key: labels.capacityType, operator: 'In', values: ['on-demand'] },
    { key: labels.instanceType, operator: 'In', values: ['c5.xlarge', 'c5.2xlarge'] },
  ];
  const disruption = { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] };
  const spec = { replicas, limits: { nodes: String(limit) }, disruption };
  await createNodePool(world, pool, { nodeClass: pool, template: { requirements }, spec });
}

const isReady = ({ status, metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions?.some(({ type, status: value }: Condition) => type === 'Ready' && value === 'True') ?? false);
const claims = (): Promise<NodeClaim[]> => kube.list('NodeClaim');
const names = (some: readonly NodeClaim[]): string[] => some.map(({ metadata }) => metadata.name ?? '').sort();

async function alive(): Promise<number> {
  return (await cloud.instances()).filter(({ state }) => state === 'running' || state === 'pending').length;
}

async function seen(): Promise<string> {
  return JSON.stringify(
    (await claims()).map(({ metadata, status }) => [metadata.name, metadata.deletionTimestamp, status?.conditions]),
  );
}

/** Exactly so many nodes, all of them Ready; the most claims and instances that were seen on the way are at most `most`. */
async function replicasAre(count: number, most: number): Promise<readonly NodeClaim[]> {
  return observe(
    `${count} replicas`,
    async () => {
      const there = await claims();
      if (there.length > most) throw new Error(`${there.length} claims, at most ${most} are allowed`);
      if ((await alive()) > most) throw new Error('more instances than may be');
      const { status } = (await kube.get('NodePool', { name: pool }))!;
      return there.length === count && there.every(isReady) && status?.nodes === count ? there : undefined;
    },
    within(150),
    seen,
  );
}

async function restart(): Promise<void> {
  await stack.stopComponent('stowage', true);
  await stack.startComponent('stowage');
}

async function runningPod(): Promise<Pod> {
  return observe(
    'The pod running',
    async () => (await kube.list('Pod', { namespace: 'default' })).find(({ status }) => status?.phase === 'Running'),
    within(60),
  );
}

describe('a static pool keeps its replicas', () => {
  test('scaled from none to three by kubectl scale while the process is killed: never more than three nodes', async () => {
    await createPool(0, 4);
    await observe(
      'The pool becoming Ready',
      async () => {
        const { status } = (await kube.get('NodePool', { name: pool }))!;
        return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      },
      within(60),
    );
    expect(await claims()).toEqual([]);

    await kubectl(stack, ['scale', `nodepool/${pool}`, '--replicas=3']);
    await observe('The first claim', async () => (await claims()).length > 0, within(60));
    await restart();

    const there = await replicasAre(3, 3);
    expect(there.every(({ spec }) => spec.resources?.requests?.['cpu'] === undefined)).toBe(true);
  });

  test('a drifted node is replaced first: never more than four nodes for three replicas, though the process is killed', async () => {
    const before = names(await claims());
    const [drifted] = before;
    await kube.patch(
      'NodeClaim',
      { name: drifted! },
      { metadata: { annotations: { [annotations.nodePoolHash]: '1234567890' } } },
    );
    await observe('A fourth claim', async () => (await claims()).length === 4, within(60), seen);
    expect(names((await claims()).filter(({ metadata }) => metadata.deletionTimestamp === undefined))).toContain(
      drifted,
    );
    await restart();

    const after = await observe(
      'The drifted node gone',
      async () => {
        const there = await replicasAre(3, 4);
        return names(there).includes(drifted!) ? undefined : there;
      },
      within(150),
      seen,
    );
    expect(names(after).filter((name) => before.includes(name))).toHaveLength(2);
    for (const { spec } of await kube.list('Node')) expect(spec?.taints ?? []).toEqual([]);
  });

  test('scaled from three to one: nodes without pods are removed, and the one with a pod stays', async () => {
    await kube.create('Deployment', {
      metadata: { name: 'tenant', namespace: 'default' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'tenant' } },
        template: {
          metadata: { labels: { app: 'tenant' } },
          spec: {
            terminationGracePeriodSeconds: 0,
            nodeSelector: { [labels.nodePool]: pool },
            containers: [{ name: 'app', image: 'registry.example/app', resources: { requests: { cpu: '100m' } } }],
          },
        },
      },
    });
    const pod = await runningPod();

    await kubectl(stack, ['scale', `nodepool/${pool}`, '--replicas=1']);
    await observe(
      'A node that goes',
      async () => (await claims()).some(({ metadata }) => metadata.deletionTimestamp !== undefined),
      within(60),
      seen,
    );
    await restart();

    const [left] = await replicasAre(1, 3);
    expect(left?.status?.nodeName).toBe(pod.spec.nodeName);
    expect((await runningPod()).metadata.uid).toBe(pod.metadata.uid);
  });

  // Rule `invariants/protection-holds`.
  test('deleting the NodePool drains its nodes first, and PodDisruptionBudgets and do-not-disrupt still protect pods', async () => {
    const [claim] = await claims();
    const pod = await runningPod();
    const selector = { matchLabels: { app: 'tenant' } };
    await kube.create('PodDisruptionBudget', {
      metadata: { name: 'tenant', namespace: 'default' },
      spec: { minAvailable: 1, selector },
    });
    await observe(
      'The budget to count its pods',
      async () => {
        const budget = await kube.get('PodDisruptionBudget', { namespace: 'default', name: 'tenant' });
        return budget?.status?.expectedPods === 1;
      },
      within(30),
    );

    await kubectl(stack, ['delete', `nodepool/${pool}`, '--wait=false']);
    await observe(
      'The drain to be held up by the budget',
      async () => {
        const live = await kube.get('NodeClaim', { name: claim?.metadata.name ?? '' });
        const node = await kube.get('Node', { name: pod.spec.nodeName ?? '' });
        const tainted = node?.spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted');
        return live?.metadata.deletionTimestamp !== undefined && tainted === true;
      },
      within(60),
      seen,
    );
    expect((await runningPod()).metadata.uid).toBe(pod.metadata.uid);
    expect(await alive()).toBe(1);

    await kube.delete('PodDisruptionBudget', { namespace: 'default', name: 'tenant' });
    await observe(
      'The end of node and instance',
      async () => (await claims()).length === 0 && (await alive()) === 0,
      within(120),
      seen,
    );
    expect(await kube.list('Node')).toEqual([]);
    // No workflow keeps replicas of a pool that is gone.
    expect(await kube.get('NodePool', { name: pool })).toBeUndefined();
  });
});
