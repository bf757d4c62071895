import { describe, expect, test } from '@jest/globals';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import type { Stack } from '../../tools/stack/stack.js';
import type { KubeClient } from '../../kube/port.js';
import { phaseQuery } from '../../workflows/messages.js';
import { onSharedWorld } from './shared-world.js';
import { createNodeClass, createNodePool, isRunning, within, type LiveWorld } from './world.js';

// Consolidation on real parts: pods are moved by the eviction API and bound by kube-scheduler, nodes join and leave.
let world: LiveWorld;
let stack: Stack;
let kube: KubeClient;
let temporal: Connection;

const pool = 'consolidated';

onSharedWorld((given) => {
  world = given;
  ({ stack, kube, temporal } = world);
});

/** A pool of these instance types alone; its nodes may all go at once. */
async function allow(instanceTypes: readonly string[]): Promise<void> {
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [...instanceTypes] },
  ];
  const spec = { disruption: { consolidateAfter: '3s', budgets: [{ nodes: '100%' }] } };
  await createNodePool(world, pool, { nodeClass: pool, template: { requirements }, spec });
}

async function deploy(name: string, replicas: number, requests: Record<string, string>): Promise<void> {
  await kube.create('Deployment', deploymentOf(name, replicas, requests));
}

async function pods(): Promise<Pod[]> {
  return (await kube.list('Pod', { namespace: 'default' })).filter(isRunning);
}

async function claims(): Promise<NodeClaim[]> {
  return kube.list('NodeClaim');
}

const typeOf = ({ metadata }: NodeClaim): string => metadata.labels?.['node.kubernetes.io/instance-type'] ?? '';
const isReady = ({ status }: NodeClaim): boolean =>
  status?.conditions?.some(({ type, status: value }: Condition) => type === 'Ready' && value === 'True') ?? false;

/** Dollars per hour on demand, as the local cloud sells them. */
const price: Readonly<Record<string, number>> = { 'r5.large': 0.126, 'c5.xlarge': 0.17, 'm5.2xlarge': 0.384 };

/** All pods run on nodes that are Ready, free of taints and cheaper together than `most`; no move is under way. */
async function settled(count: number, most: number): Promise<boolean> {
  const there = await claims();
  const paid = there.reduce((sum, claim) => sum + (price[typeOf(claim)] ?? Infinity), 0);
  if (!there.every(isReady) || paid >= most || (await moves()).length > 0) return false;
  if ((await pods()).length !== count) return false;
  const nodes = await kube.list('Node');
  const clean = nodes.every(({ spec }) => (spec?.taints ?? []).length === 0);
  return clean && nodes.length === there.length;
}

async function seen(): Promise<string> {
  const there = await claims();
  return `${there.map(typeOf).join()} for ${(await pods()).length} pods`;
}

/** Workflows that move pods now, and their phases. */
async function moves(): Promise<{ workflowId: string; phase: string }[]> {
  const { workflow } = new Client({ connection: temporal });
  const found: { workflowId: string; phase: string }[] = [];
  for await (const { workflowId } of workflow.list({
    query: `WorkflowType = "consolidate" AND ExecutionStatus = "Running" AND StowageReason = "underutilized"`,
  })) {
    const phase = await workflow
      .getHandle(workflowId)
      .query(phaseQuery)
      .catch(() => undefined);
    if (phase !== undefined) found.push({ workflowId, phase });
  }
  return found;
}

describe('consolidation moves pods to cheaper nodes', () => {
  // Every pod has its node; once larger types are allowed, fewer nodes hold all of them for less.
  test('2 yellow and 3 red pods end on fewer, cheaper nodes, though the process is killed in the middle of a move', async () => {
    await createNodeClass(world, pool);
    await allow(['r5.large']);
    await deploy('yellow', 2, { cpu: '1', memory: '1Gi' });
    await deploy('red', 3, { cpu: '1', memory: '6Gi' });
    await observe('Five pods running', async () => (await pods()).length === 5, within(120), seen);
    const before = (await claims()).map(typeOf);
    expect(before).toEqual(Array.from({ length: 5 }, () => 'r5.large'));

    // Nothing joins before the process has been killed: it is in the middle of its launches then.
    stack.freeze('node-joiner', true);
    await allow(['r5.large', 'c5.xlarge', 'm5.2xlarge']);
    await observe(
      'A move that launches',
      async () => (await moves()).some(({ phase }) => phase === 'launching'),
      within(120),
      async () => JSON.stringify(await moves()),
    );
    await stack.stopComponent('stowage', true);
    expect(await pods()).toHaveLength(5);
    await stack.startComponent('stowage');
    stack.freeze('node-joiner', false);

    await observe('Five pods on cheaper nodes', () => settled(5, 5 * price['r5.large']!), within(180), seen);
    // What died in the middle of a step took it up again: nothing was launched twice, nothing was left over.
    expect((await claims()).length).toBeLessThan(5);
    expect(await moves()).toEqual([]);
  });
});
