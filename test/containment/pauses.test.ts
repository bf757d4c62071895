import { describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { annotations, taints } from '../../api/labels.js';
import { updateClaim, updateNode } from '../../cluster/writes.js';
import { withCondition } from '../../core/conditions.js';
import { messageOf } from '../../core/error-message.js';
import { workflowIds } from '../../core/ids.js';
import { hasTaint, withoutTaint } from '../../core/taints.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { explainQuery, runningQuery, whyNotUpdate, type NodeVerdict } from '../../workflows/messages.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from '../live/world.js';
import { isInitialized, large, sharedContainment } from './containment.js';

// What must outlive a workflow is in Kubernetes. Rule `invariants/pauses-hold`.

const on = sharedContainment(async (world) => {
  await createNodeClass(world, 'default');
  await createNodePool(world, 'default', { spec: { disruption: { consolidateAfter: '0s' } } });
});

const disrupt = (): ReturnType<Client['workflow']['getHandle']> =>
  on.client.workflow.getHandle(workflowIds.disrupt(on.cluster));

/** What `disrupt` says of the node now; undefined where none runs. */
const verdictOf = async (node: string): Promise<NodeVerdict | undefined> =>
  disrupt()
    .executeUpdate(whyNotUpdate, { args: [node] })
    .catch(() => undefined);

/** What is said of the node, and of each disruption that runs. */
async function underWay(node: string): Promise<unknown> {
  const running = await disrupt()
    .query(runningQuery)
    .catch(() => []);
  const explained = running.map(({ workflowId }) =>
    on.client.workflow
      .getHandle(workflowId)
      .query(explainQuery)
      .catch((error: unknown) => messageOf(error)),
  );
  return [await verdictOf(node), ...(await Promise.all(explained))];
}

const heldByPause = (node: string): Promise<NodeVerdict> =>
  observe(
    'The node held by the pause',
    async () => {
      const verdict = await verdictOf(node);
      return verdict?.why.includes('release day') === true ? verdict : undefined;
    },
    within(120),
    async () => JSON.stringify(await verdictOf(node)),
  );

describe('a pause written as a custom resource with kubectl', () => {
  test('keeps an empty node, outlives a terminated disrupt workflow, and ends when the resource is deleted', async () => {
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(on.world, 'web'), within(180));
    await on.world.kube.create('DisruptionPause', {
      metadata: { name: 'release-day' },
      spec: { scope: { kind: 'Cluster' }, message: 'release day' },
    });
    await on.world.kube.delete('Deployment', { name: 'web', namespace: 'default' });

    expect((await heldByPause(node)).verdict).toBe('stays');
    const { runId } = await disrupt().describe();
    await disrupt().terminate('containment test');
    await observe(
      'disrupt running again',
      async () => {
        const now = await disrupt().describe();
        return now.status.name === 'RUNNING' && now.runId !== runId;
      },
      within(120),
    );
    expect((await heldByPause(node)).verdict).toBe('stays');
    expect(await on.world.kube.list('NodeClaim')).toHaveLength(1);

    await on.world.kube.delete('DisruptionPause', { name: 'release-day' });
    const isGone = async (): Promise<boolean> => (await on.claims()).length === 0;
    await observe('The node gone', isGone, within(300), async () => JSON.stringify(await underWay(node)));
  });
});

/** A workflow of this id that runs until it is terminated. */
async function runOwner(workflowId: string): Promise<void> {
  await on.client.workflow.start('unknownWorkflow', { workflowId, taskQueue: 'without-a-worker' });
}

/** As a disruption taints a node; one of no known owner writes nothing on its claim. */
async function taintAs(owner: string | undefined, node: string): Promise<void> {
  const claim = await on.claim(`of ${node}`, ({ status }) => status?.nodeName === node);
  const { name = '', uid = '' } = claim.metadata;
  if (owner !== undefined) {
    const marked = { type: 'DisruptionReason', status: 'True', reason: 'Empty', message: 'Empty' } as const;
    await updateClaim(on.world.kube, { name, uid }, ({ metadata, status }) => ({
      metadata: { annotations: { [annotations.disruptionOwner]: owner } },
      status: {
        conditions: withCondition(status?.conditions, marked, { now: Date.now(), generation: metadata.generation }),
      },
    }));
  }
  await updateNode(on.world.kube, node, (found) => ({
    spec: { taints: [...withoutTaint(found, taints.disrupted), taints.disrupted] },
  }));
}

const isTainted = async (node: string): Promise<boolean> => {
  const found = await on.world.kube.get('Node', { name: node });
  return found !== undefined && hasTaint(found, taints.disrupted);
};

// Rule `candidates/left-over-taints`.
describe("a node's taint whose owner is another workflow", () => {
  test('stays and counts against budgets while the owner runs; it is removed once the owner is closed, or where there is none', async () => {
    const { kube } = on.world;
    const types = { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c5.2xlarge'] };
    const pool = (disruption: object) => createNodePool(on.world, 'default', { template: { requirements: [types] }, spec: { disruption } }); // prettier-ignore
    await pool({ consolidateAfter: 'Never' });
    const apps = ['of-running', 'of-closed', 'of-unknown'];
    for (const app of apps) await deploy(on.world, app, large);
    const [held = '', closed = '', strange = ''] = await Promise.all(apps.map(async (app) => on.runs(app)));
    for (const node of [held, closed, strange]) await on.claim(`of ${node}`, (each) => each.status?.nodeName === node && isInitialized(each)); // prettier-ignore
    // A node would be launched for pods of one that is tainted.
    for (const name of apps) await kube.delete('Deployment', { name, namespace: 'default' });
    await on.until('Their pods gone', async () => (await kube.list('Pod', { namespace: 'default' })).length === 0, 90);
    const owner = (digit: string): string => `${on.cluster}/consolidate/${digit.repeat(16)}`;
    await runOwner(owner('a'));
    await runOwner(owner('b'));
    await on.workflow(owner('b')).terminate('containment test');
    await taintAs(owner('a'), held);
    await taintAs(owner('b'), closed);
    await taintAs(undefined, strange);
    await pool({ consolidateAfter: '0s', budgets: [{ nodes: '1' }] });

    const areFree = async (): Promise<boolean> => !(await isTainted(closed)) && !(await isTainted(strange));
    await on.until('The taints without an owner that runs taken off', areFree, 150);
    const { metadata } = await on.claim(`of ${closed}`, ({ status }) => status?.nodeName === closed);
    expect(metadata.annotations?.[annotations.disruptionOwner]).toBeUndefined();
    // Empty nodes that could go wait for the one that counts.
    for (const node of [closed, strange]) {
      await on.until(`The budget holding ${node}`, async () => (await verdictOf(node))?.why.startsWith('budget 1 allows no more') === true, 90); // prettier-ignore
    }
    expect([await isTainted(held), (await on.claims()).length]).toEqual([true, 3]);

    await on.workflow(owner('a')).terminate('containment test');
    // A node that is gone has no taint either.
    await on.until('Its taint taken off', async () => !(await isTainted(held)), 150);
  });
});
