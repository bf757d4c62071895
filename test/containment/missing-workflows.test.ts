import { describe, expect, test } from '@jest/globals';
import { isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { createDefaultPool, deploy, nodeOf, within } from '../live/world.js';
import { containment } from './containment.js';

// What is missing in Temporal is started by whoever needs it, or by the reconciler, and holds up nobody else.

const on = containment('missing', createDefaultPool);

async function openWorkflows(): Promise<Set<string>> {
  const open = new Set<string>();
  const query = `StowageCluster = "${on.cluster}" AND ExecutionStatus = "Running"`;
  for await (const { workflowId } of on.client.workflow.list({ query })) open.add(workflowId);
  return open;
}

describe('a workflow that is missing', () => {
  test('provision, when a spot interruption arrives: the node is replaced before its instance goes', async () => {
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe(
      'The pod running',
      () => nodeOf(on.world, 'web'),
      within(180),
      () => on.describe(),
    );
    const [claim] = await observe(
      'The claim initialized',
      async () => {
        const all = await on.claims();
        return all.every(({ status }) => isTrue(status?.conditions, 'Initialized')) ? all : undefined;
      },
      within(60),
    );
    const instanceId = claim?.status?.providerID?.split('/').at(-1) ?? '';
    await on.client.workflow.getHandle(workflowIds.provision(on.cluster)).terminate('containment test');

    await on.world.cloud.interruptSpot(instanceId);

    const next = await observe(
      'The pod running on another node',
      async () => {
        const at = await nodeOf(on.world, 'web');
        return at === undefined || at === node ? undefined : at;
      },
      within(180),
      () => on.describe(),
    );
    expect(next).not.toBe(node);
    const handled = await on.client.workflow.getHandle(workflowIds.interrupt(on.cluster, instanceId)).result();
    expect(handled).toMatchObject({ outcome: 'drained' });
  }, 500_000);

  test('a launch: other pods get their nodes meanwhile, and it is started again', async () => {
    await on.world.cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy(on.world, 'held', { cpu: '6', memory: '6Gi' });
    const held = await observe(
      'A claim without an instance',
      async () => (await on.claims()).find(({ status }) => (status?.providerID ?? '') === ''),
      within(60),
    );
    const launch = workflowIds.launch(on.cluster, held.metadata.uid ?? '');
    await observe(
      'Its launch',
      () =>
        on.client.workflow
          .getHandle(launch)
          .describe()
          .catch(() => undefined),
      within(30),
    );
    await on.client.workflow.getHandle(launch).terminate('containment test');
    await on.world.cloud.clearFaults();

    await deploy(on.world, 'other', { cpu: '12', memory: '12Gi' });
    await observe(
      'The other pod running',
      () => nodeOf(on.world, 'other'),
      within(180),
      () => on.describe(),
    );
    await observe(
      'The held pod running',
      () => nodeOf(on.world, 'held'),
      within(180),
      () => on.describe(),
    );
    await expect(on.client.workflow.getHandle(launch).result()).resolves.toMatchObject({ outcome: 'initialized' });
  }, 600_000);

  // Rule `invariants/rebuilt`.
  test('all of them, and every Schedule: they are back within two minutes, and no node goes for it', async () => {
    // Launches are over, and every node has the timer of its expiration.
    const before = await observe(
      'Nothing under way',
      async () => {
        const open = await openWorkflows();
        const uids = (await on.claims()).map(({ metadata }) => metadata.uid ?? '');
        const isResting = uids.every(
          (uid) => open.has(workflowIds.expire(on.cluster, uid)) && !open.has(workflowIds.launch(on.cluster, uid)),
        );
        // What refused lately is remembered for a while, and missed by nobody.
        open.delete(workflowIds.offerings(on.cluster));
        return isResting ? open : undefined;
      },
      within(120),
    );
    const nodes = (await on.claims()).map(({ metadata }) => metadata.name).sort();
    expect(before.has(workflowIds.provision(on.cluster))).toBe(true);
    for (const id of before)
      await on.client.workflow
        .getHandle(id)
        .terminate('containment test')
        .catch(() => undefined);
    const schedules = [workflowIds.collectGarbage, workflowIds.refreshCatalogue, workflowIds.sweepCloud].map((id) =>
      id(on.cluster),
    );
    for (const id of schedules) await on.client.schedule.getHandle(id).delete();

    const missing = async (): Promise<string[]> => {
      const open = await openWorkflows();
      const gone = [...before].filter((id) => !open.has(id));
      for (const id of schedules) {
        const found = await on.client.schedule
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
    expect((await on.claims()).map(({ metadata }) => metadata.name).sort()).toEqual(nodes);
  }, 300_000);
});
