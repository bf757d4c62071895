import { describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { pausesQuery, whyNotUpdate, type NodeVerdict } from '../../workflows/messages.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from '../live/world.js';
import { containment } from './containment.js';

// What must outlive a workflow is in Kubernetes. Rule `invariants/pauses-hold`.

const on = containment('pauses', async (world) => {
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

describe('a pause that kubectl wrote', () => {
  test('holds an empty node, outlives the workflow that heard of it, and ends when it is deleted', async () => {
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(on.world, 'web'), within(180));
    await on.world.kube.create('DisruptionPause', {
      metadata: { name: 'release-day' },
      spec: { scope: { kind: 'Cluster' }, message: 'release day' },
    });
    // What is found to be empty before a pause is heard of is under way, and held later.
    const isHeard = async (): Promise<true | undefined> =>
      (
        await disrupt()
          .query(pausesQuery)
          .catch(() => [])
      ).length === 1 || undefined;
    await observe('disrupt knowing of the pause', isHeard, within(60));
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
    await observe('The node gone', async () => (await on.world.kube.list('NodeClaim')).length === 0, within(120));
  }, 600_000);
});
