import { describe, expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { createDefaultPool, deploy, isRunning, within } from '../live/world.js';
import { containment, instanceOf, large } from './containment.js';
import { loseWorkflow, type Loss } from './lose-workflow.js';

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
    const claim = await on.claimUnder('web');
    const instanceId = instanceOf(claim);
    await on.workflow(workflowIds.provision(on.cluster)).terminate('containment test');

    await on.world.cloud.interruptSpot(instanceId);

    await on.runs('web', claim.status?.nodeName, 180);
    const handled = await on.workflow(workflowIds.interrupt(on.cluster, instanceId)).result();
    expect(handled).toMatchObject({ outcome: 'drained' });
  }, 500_000);

  test('launches that are terminated, failed or wiped: other pods get their nodes meanwhile, and all are started again', async () => {
    const losses: readonly Loss[] = ['terminated', 'failed', 'wiped'];
    const known = new Set((await on.claims()).map(({ metadata }) => metadata.uid));
    await on.world.cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy(on.world, 'held', large, losses.length);
    const launches = await observe(
      'A claim without an instance, and its launch, for each pod',
      async () => {
        const waiting = (await on.claims()).filter((each) => instanceOf(each) === '' && !known.has(each.metadata.uid));
        const ids = waiting.map(({ metadata }) => workflowIds.launch(on.cluster, metadata.uid ?? ''));
        const open = await Promise.all(ids.map((id) => on.isOpen(id)));
        return ids.length === losses.length && open.every((each) => each) ? ids : undefined;
      },
      within(90),
      () => on.describe(),
    );
    for (const [n, loss] of losses.entries()) await loseWorkflow(on.client, launches[n]!, loss);
    await on.world.cloud.clearFaults();

    await deploy(on.world, 'other', { cpu: '12', memory: '12Gi' });
    await on.runs('other');
    const held = async (): Promise<boolean> => {
      const pods = await on.world.kube.list('Pod', { namespace: 'default', labelSelector: 'app=held' });
      return pods.filter(isRunning).length === losses.length;
    };
    await on.until('The held pods running', held, 240);
    for (const id of launches)
      await expect(on.workflow(id).result()).resolves.toMatchObject({ outcome: 'initialized' });
  }, 600_000);

  // Rule `invariants/rebuilt`.
  test('all of them, terminated or wiped, and every Schedule: they are back within two minutes, and no node goes for it', async () => {
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
    for (const [n, id] of [...before].entries())
      await loseWorkflow(on.client, id, n % 2 === 0 ? 'wiped' : 'terminated').catch(() => undefined);
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
