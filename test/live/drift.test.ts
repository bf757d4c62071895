import { describe, expect, test } from '@jest/globals';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Condition, Node } from '../../api/kubernetes.js';
import { annotations, labels, taints } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';
import type { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { observe } from '../../tools/stack/demo/observe.js';
import type { Stack } from '../../tools/stack/stack.js';
import type { KubeClient, Kinds, NewObject } from '../../kube/port.js';
import { pauseUpdate, resumeUpdate } from '../../workflows/messages.js';
import { onSharedWorld } from './shared-world.js';
import { answered, createNodeClass, createNodePool, isRunning, within, type LiveWorld } from './world.js';

// Drift and expiration on real parts: a node class changes, and its nodes are replaced under real budgets of pods.
let world: LiveWorld;
let stack: Stack;
let kube: KubeClient;
let cloud: CloudProxyControl;
let temporal: Connection;

const pool = 'drifting';

onSharedWorld((given) => {
  world = given;
  ({ stack, kube, cloud, temporal } = world);
});

/** What nodes of the class were launched with is no longer what it says. */
async function release(number: string): Promise<void> {
  await kube.patch('EC2NodeClass', { name: pool }, { spec: { tags: { release: number } } });
}

async function createPool(name: string, spec: object, expireAfter: string): Promise<void> {
  const requirements = [
    { key: labels.capacityType, operator: 'In', values: ['on-demand'] },
    { key: labels.instanceType, operator: 'In', values: ['c5.xlarge'] },
  ];
  await createNodePool(world, name, { nodeClass: pool, template: { requirements, expireAfter }, spec });
}

/** Pods that have a node each, and of which one may be away at a time. */
async function deploy(name: string, replicas: number, nodePool: string): Promise<void> {
  const own = { app: name };
  await kube.create('Deployment', {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: own },
      template: {
        metadata: { labels: own },
        spec: {
          terminationGracePeriodSeconds: 0,
          nodeSelector: { [labels.nodePool]: nodePool },
          containers: [{ name: 'app', image: 'registry.example/app', resources: { requests: { cpu: '2500m' } } }],
        },
      },
    },
  });
  await kube.create('PodDisruptionBudget', {
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable: 1, selector: { matchLabels: own } },
  });
}

const claims = async (nodePool = pool): Promise<NodeClaim[]> =>
  (await kube.list('NodeClaim')).filter(({ metadata }) => metadata.labels?.[labels.nodePool] === nodePool);
const names = (some: readonly NodeClaim[]): string[] => some.map(({ metadata }) => metadata.name ?? '').sort();
const isReady = ({ status, metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions?.some(({ type, status: is }: Condition) => type === 'Ready' && is === 'True') ?? false);
const running = async (app: string): Promise<number> =>
  (await kube.list('Pod', { namespace: 'default', labelSelector: `app=${app}` })).filter(isRunning).length;
const isTainted = ({ spec }: Node): boolean => spec?.taints?.some(({ key }) => key === taints.disrupted.key) ?? false;

async function alive(): Promise<number> {
  return (await cloud.instances()).filter(({ state }) => state === 'running' || state === 'pending').length;
}

/** Nodes that a disruption has marked or takes away. */
async function going(): Promise<Node[]> {
  return (await kube.list('Node')).filter((node) => isTainted(node) || node.metadata.deletionTimestamp !== undefined);
}

/** Of these, those that budgets count (budgets/counted-nodes): not those whose instance is on its way out already. */
async function counted(): Promise<number> {
  const nodes = await going();
  const there = await kube.list('NodeClaim');
  const isEnding = ({ status }: NodeClaim): boolean =>
    status?.conditions?.some(({ type, status: is }: Condition) => type === 'InstanceTerminating' && is === 'True') ??
    false;
  const stay = new Set(there.filter((claim) => !isEnding(claim)).map(({ status }) => status?.providerID));
  return nodes.filter(({ spec }) => stay.has(spec?.providerID)).length;
}

async function seen(): Promise<string> {
  const there = await kube.list('NodeClaim');
  return JSON.stringify([
    there.map(({ metadata, status }) => [metadata.name, status?.conditions]),
    (await going()).map(({ metadata }) => metadata.name),
  ]);
}

async function restart(): Promise<void> {
  await stack.stopComponent('stowage', true);
  await stack.startComponent('stowage');
}

/** All nodes of `before` are replaced, and nothing is left over; on the way no more than `most` went at a time. */
async function replaced(app: string, before: readonly string[], most: number): Promise<void> {
  await observe(
    'Every node replaced',
    async () => {
      if ((await counted()) > most) throw new Error(`more than ${most} nodes go at a time`);
      if ((await running(app)) < before.length - 1) throw new Error('more pods are away than their budget allows');
      const there = await claims();
      const fresh = there.every((claim) => isReady(claim) && !before.includes(claim.metadata.name ?? ''));
      if (!fresh || there.length !== before.length || (await running(app)) !== before.length) return undefined;
      return (await going()).length === 0 && (await alive()) === before.length;
    },
    within(300),
    seen,
  );
}

async function settled(app: string, count: number): Promise<string[]> {
  return observe(
    `${count} pods on ${count} nodes`,
    async () => {
      const there = await claims();
      if ((await running(app)) !== count || there.length !== count || !there.every(isReady)) return undefined;
      return names(there);
    },
    within(120),
    seen,
  );
}

describe('a node class that changes has its nodes replaced', () => {
  test("replaces one node at a time, replacement first, within the pods' budget, although the process is killed on the way", async () => {
    await createNodeClass(world, pool, { tags: { release: '1' } });
    const budgets = [{ nodes: '1', reasons: ['Drifted'] }];
    await createPool(pool, { disruption: { consolidateAfter: 'Never', budgets } }, '720h');
    await deploy('web', 3, pool);
    const before = await settled('web', 3);

    await release('2');
    await observe('A fourth node', async () => (await claims()).length === 4, within(120), seen);
    expect(await running('web')).toBe(3);
    await restart();

    await replaced('web', before, 1);
  });

  test('replaces in waves by policy: no node is tainted while paused; resumed after a kill of the process, all waves finish', async () => {
    const before = await settled('web', 3);
    await kube.patch('NodePool', { name: pool }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await kube.create('DisruptionPolicy', {
      metadata: { name: 'waves' },
      spec: {
        nodePoolSelector: {},
        driftRollout: { canary: '1', soak: '2s', growthFactor: 2, maximumWave: '100%' },
      },
    } as unknown as NewObject<Kinds['DisruptionPolicy']>);
    await observe(
      'The policy to rule the pool',
      async () => {
        const policy = await kube.get('DisruptionPolicy', { name: 'waves' });
        return policy?.status?.nodePools?.includes(pool) === true;
      },
      within(60),
    );

    await release('3');
    await observe('The canary to be marked', async () => (await going()).length > 0, within(120), seen);
    const disrupt = new Client({ connection: temporal }).workflow.getHandle(workflowIds.disrupt(stack.cluster));
    const scope = { kind: 'nodePool', name: pool } as const;
    const ann = { actor: 'ann', reason: 'release day' };
    await disrupt.executeUpdate(pauseUpdate, { args: [{ scope, ...ann }] });
    await observe('No node marked', async () => (await going()).length === 0, within(30), seen);
    await restart();
    expect(await going()).toEqual([]);
    expect(names(await claims())).toEqual(expect.arrayContaining(before));
    await answered(() => disrupt.executeUpdate(resumeUpdate, { args: [{ scope, ...ann }] }));

    await replaced('web', before, 3);
    await observe(
      'The last good template recorded',
      async () => {
        const live = await kube.get('NodePool', { name: pool });
        return live?.metadata.annotations?.[annotations.lastGoodTemplate] === undefined ? undefined : true;
      },
      within(60),
    );
  });

  test('replaces a node near its hard deadline before that is reached', async () => {
    await kube.delete('DisruptionPolicy', { name: 'waves' });
    await createNodeClass(world, pool, { tags: { release: '1' } });
    await createPool('aging', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } }, '2m');
    await deploy('old', 1, 'aging');
    const [first] = await observe(
      'The pod on a node that ages',
      async () => {
        const there = await claims('aging');
        return there.length === 1 && there.every(isReady) && (await running('old')) === 1 ? there : undefined;
      },
      within(60),
      seen,
    );

    const name = first?.metadata.name ?? '';
    await observe(
      'Its end',
      async () => {
        const there = await claims('aging');
        const old = there.find(({ metadata }) => metadata.name === name);
        if (old !== undefined && old.metadata.deletionTimestamp === undefined) return undefined;
        if (!there.some(isReady)) throw new Error('it goes before its successor is up');
        return true;
      },
      within(150),
      seen,
    );
    await observe(
      'The old node gone, its pod on the new one',
      async () => {
        const there = names(await claims('aging'));
        return !there.includes(name) && (await running('old')) === 1;
      },
      within(120),
      seen,
    );
  });
});
