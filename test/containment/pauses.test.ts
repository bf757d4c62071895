import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { pausesQuery, whyNotUpdate, type NodeVerdict } from '../../workflows/messages.js';
import {
  createNodeClass,
  createNodePool,
  deploy,
  nodeOf,
  startLiveWorld,
  within,
  type LiveWorld,
} from '../live/world.js';

// "Contained" 9: what must outlive a workflow is in Kubernetes. Rule `invariants/pauses-hold`.
let world: LiveWorld;
let client: Client;

beforeAll(async () => {
  world = await startLiveWorld('pauses');
  client = new Client({ connection: world.temporal });
  await createNodeClass(world, 'default');
  await createNodePool(world, 'default', { spec: { disruption: { consolidateAfter: '0s' } } });
}, 600_000);

afterAll(async () => {
  await world.stop();
}, 60_000);

const disrupt = (): ReturnType<Client['workflow']['getHandle']> =>
  client.workflow.getHandle(workflowIds.disrupt(world.stack.cluster));

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
    await deploy(world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(world, 'web'), within(180));
    await world.kube.create('DisruptionPause', {
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
    await world.kube.delete('Deployment', { name: 'web', namespace: 'default' });

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
    expect(await world.kube.list('NodeClaim')).toHaveLength(1);

    await world.kube.delete('DisruptionPause', { name: 'release-day' });
    await observe('The node gone', async () => (await world.kube.list('NodeClaim')).length === 0, within(120));
  }, 600_000);
});
