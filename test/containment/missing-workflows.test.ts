import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { createDefaultPool, deploy, nodeOf, startLiveWorld, within, type LiveWorld } from '../live/world.js';

// "Contained" 2, 4 and 8: what is missing in Temporal is started by whoever needs it, or by the reconciler, and holds up nobody else.
let world: LiveWorld;
let client: Client;

beforeAll(async () => {
  world = await startLiveWorld('missing');
  client = new Client({ connection: world.temporal });
  await createDefaultPool(world);
}, 600_000);

afterAll(async () => {
  await world.stop();
}, 60_000);

async function claims(): Promise<NodeClaim[]> {
  return world.kube.list('NodeClaim');
}

async function openWorkflows(): Promise<Set<string>> {
  const open = new Set<string>();
  const query = `StowageCluster = "${world.stack.cluster}" AND ExecutionStatus = "Running"`;
  for await (const { workflowId } of client.workflow.list({ query })) open.add(workflowId);
  return open;
}

const describeClaims = async (): Promise<string> =>
  (await claims())
    .map(
      ({ metadata, status }) => `${metadata.name ?? ''} ${JSON.stringify(status?.conditions?.map(({ type }) => type))}`,
    )
    .join('; ');

describe('a workflow that is missing', () => {
  test('provision, when a spot interruption arrives: the node is replaced before its instance goes', async () => {
    await deploy(world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(world, 'web'), within(180), describeClaims);
    const [claim] = await observe(
      'The claim initialized',
      async () => {
        const all = await claims();
        return all.every(({ status }) => isTrue(status?.conditions, 'Initialized')) ? all : undefined;
      },
      within(60),
    );
    const instanceId = claim?.status?.providerID?.split('/').at(-1) ?? '';
    await client.workflow.getHandle(workflowIds.provision(world.stack.cluster)).terminate('containment test');

    await world.cloud.interruptSpot(instanceId);

    const next = await observe(
      'The pod running on another node',
      async () => {
        const at = await nodeOf(world, 'web');
        return at === undefined || at === node ? undefined : at;
      },
      within(180),
      describeClaims,
    );
    expect(next).not.toBe(node);
    const handled = await client.workflow.getHandle(workflowIds.interrupt(world.stack.cluster, instanceId)).result();
    expect(handled).toMatchObject({ outcome: 'drained' });
  }, 500_000);

  test('a launch: other pods get their nodes meanwhile, and it is started again', async () => {
    await world.cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy(world, 'held', { cpu: '6', memory: '6Gi' });
    const held = await observe(
      'A claim without an instance',
      async () => (await claims()).find(({ status }) => (status?.providerID ?? '') === ''),
      within(60),
    );
    const launch = workflowIds.launch(world.stack.cluster, held.metadata.uid ?? '');
    await observe(
      'Its launch',
      () =>
        client.workflow
          .getHandle(launch)
          .describe()
          .catch(() => undefined),
      within(30),
    );
    await client.workflow.getHandle(launch).terminate('containment test');
    await world.cloud.clearFaults();

    await deploy(world, 'other', { cpu: '12', memory: '12Gi' });
    await observe('The other pod running', () => nodeOf(world, 'other'), within(180), describeClaims);
    await observe('The held pod running', () => nodeOf(world, 'held'), within(180), describeClaims);
    await expect(client.workflow.getHandle(launch).result()).resolves.toMatchObject({ outcome: 'initialized' });
  }, 600_000);

  // Rule `invariants/rebuilt`.
  test('all of them, and every Schedule: they are back within two minutes, and no node goes for it', async () => {
    // Launches are over, and every node has the timer of its expiry.
    const before = await observe(
      'Nothing under way',
      async () => {
        const open = await openWorkflows();
        const uids = (await claims()).map(({ metadata }) => metadata.uid ?? '');
        const isResting = uids.every(
          (uid) =>
            open.has(workflowIds.expire(world.stack.cluster, uid)) &&
            !open.has(workflowIds.launch(world.stack.cluster, uid)),
        );
        // What refused lately is remembered for a while, and missed by nobody.
        open.delete(workflowIds.offerings(world.stack.cluster));
        return isResting ? open : undefined;
      },
      within(120),
    );
    const nodes = (await claims()).map(({ metadata }) => metadata.name).sort();
    expect(before.has(workflowIds.provision(world.stack.cluster))).toBe(true);
    for (const id of before)
      await client.workflow
        .getHandle(id)
        .terminate('containment test')
        .catch(() => undefined);
    const schedules = [workflowIds.collectGarbage, workflowIds.refreshCatalogue, workflowIds.sweepCloud].map((id) =>
      id(world.stack.cluster),
    );
    for (const id of schedules) await client.schedule.getHandle(id).delete();

    const missing = async (): Promise<string[]> => {
      const open = await openWorkflows();
      const gone = [...before].filter((id) => !open.has(id));
      for (const id of schedules) {
        const found = await client.schedule
          .getHandle(id)
          .describe()
          .catch(() => undefined);
        if (found === undefined) gone.push(id);
      }
      return gone;
    };
    await observe(
      'Every workflow and Schedule back',
      async () => ((await missing()).length === 0 ? true : undefined),
      within(120),
      async () => (await missing()).join(', '),
    );
    expect((await claims()).map(({ metadata }) => metadata.name).sort()).toEqual(nodes);
  }, 300_000);
});
