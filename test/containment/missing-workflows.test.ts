import { describe, expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { createDefaultPool, deploy, isRunning, within } from '../live/world.js';
import { backUp, restore } from './backups.js';
import { containment, instanceOf, large } from './containment.js';
import { loseWorkflow, type Loss } from './lose-workflow.js';

// What is missing in Temporal is started by the workflow that needs it, or by the reconciler, and delays no other. The stack is no other file's:
// all that is open has to come back, and in the end its stores come from backups.

const on = containment('missing', createDefaultPool);

async function openWorkflows(): Promise<Set<string>> {
  const open = new Set<string>();
  const query = `StowageCluster = "${on.cluster}" AND ExecutionStatus = "Running"`;
  for await (const { workflowId } of on.client.workflow.list({ query })) open.add(workflowId);
  return open;
}

describe('a workflow that does not run', () => {
  test('provision does not run when a spot interruption arrives: the node is replaced before its instance ends', async () => {
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    const claim = await on.claimUnder('web');
    const instanceId = instanceOf(claim);
    await on.workflow(workflowIds.provision(on.cluster)).terminate('containment test');

    await on.world.cloud.interruptSpot(instanceId);

    await on.runs('web', claim.status?.nodeName, 180);
    const handled = await on.workflow(workflowIds.interrupt(on.cluster, instanceId)).result();
    expect(handled).toMatchObject({ outcome: 'drained' });
  });

  test('launches terminated, failed or deleted from Temporal: other pods get nodes meanwhile, and each launch is started again', async () => {
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
    // The pods may run elsewhere before a lost launch is started again.
    const isInitialized = async (id: string): Promise<boolean> => {
      const result = (await on.workflow(id).result().catch(() => undefined)) as { outcome?: string } | undefined; // prettier-ignore
      return result?.outcome === 'initialized';
    };
    for (const id of launches) await on.until(`${id} initialized`, () => isInitialized(id), 240);
  });

  // Rule `invariants/rebuilt`.
  test('all workflows terminated or deleted from Temporal: they run again within two minutes, and no node is removed', async () => {
    const before = await observe(
      'Nothing under way',
      async () => {
        const open = await openWorkflows();
        const uids = (await on.claims()).map(({ metadata }) => metadata.uid ?? '');
        const isResting = uids.every((uid) => !open.has(workflowIds.launch(on.cluster, uid)));
        // It remembers refused offerings for a while, and nothing depends on it.
        open.delete(workflowIds.offerings(on.cluster));
        return isResting ? open : undefined;
      },
      within(120),
    );
    const nodes = (await on.claims()).map(({ metadata }) => metadata.name).sort();
    expect(before.has(workflowIds.provision(on.cluster))).toBe(true);
    for (const [n, id] of [...before].entries())
      await loseWorkflow(on.client, id, n % 2 === 0 ? 'wiped' : 'terminated').catch(() => undefined);

    const missing = async (): Promise<string[]> => {
      const open = await openWorkflows();
      const gone = [...before].filter((id) => !open.has(id));
      return gone;
    };
    await observe(
      'Every workflow back',
      async () => (await missing()).length === 0,
      within(120),
      async () => (await missing()).join(', '),
    );
    expect((await on.claims()).map(({ metadata }) => metadata.name).sort()).toEqual(nodes);
  });

  // Rule `invariants/rebuilt`.
  test('a claim that a restored backup of etcd brings back is terminated again, and so are claims created after the backup', async () => {
    const { kube } = on.world;
    await deploy(on.world, 'restored', { cpu: '14', memory: '14Gi' });
    const old = await on.claimUnder('restored');
    const [name, uid] = [old.metadata.name ?? '', old.metadata.uid ?? ''];
    const termination = workflowIds.terminate(on.cluster, uid);
    await backUp(on.world.stack, 'etcd');

    await kube.delete('Deployment', { name: 'restored', namespace: 'default' });
    await kube.delete('NodeClaim', { name });
    await on.until('The claim gone', async () => (await kube.get('NodeClaim', { name })) === undefined, 180);
    const { runId } = await on.workflow(termination).describe();
    await deploy(on.world, 'later', { cpu: '12', memory: '12Gi' });
    const later = await on.claimUnder('later');

    await restore(on.world.stack, 'etcd');
    expect((await kube.get('NodeClaim', { name }))?.metadata.uid).toBe(uid);

    const isGone = async (): Promise<boolean> => (await kube.get('NodeClaim', { name })) === undefined;
    await on.until('The claim gone again', isGone, 240);
    // The claim is gone moments before its workflow is over.
    const again = on.workflow(termination);
    await again.result();
    expect((await again.describe()).runId).not.toBe(runId);
    await on.runs('restored', old.status?.nodeName);
    const hasEnded = async (): Promise<boolean> =>
      (await on.machinesOf(later)).every(({ state }) => state === 'shutting-down' || state === 'terminated');
    await on.until('The instance of a claim that never was ended', hasEnded, 300);
  });

  test('Temporal restored from a backup: workflows of claims created since start again, those of claims gone since end, and pods get nodes', async () => {
    const { kube, stack, cloud } = on.world;
    const hangingLaunch = async (): Promise<string> =>
      observe(
        'A claim without an instance, and its launch',
        async () => {
          const waiting = (await on.claims()).find((each) => instanceOf(each) === '');
          const id = workflowIds.launch(on.cluster, waiting?.metadata.uid ?? '');
          return waiting !== undefined && (await on.isOpen(id)) ? id : undefined;
        },
        within(90),
        () => on.describe(),
      );
    await cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy(on.world, 'before', { cpu: '10', memory: '10Gi' });
    const launchBefore = await hangingLaunch();
    await backUp(stack, 'temporal');
    await cloud.clearFaults();
    const old = await on.claimUnder('before');
    await kube.delete('Deployment', { name: 'before', namespace: 'default' });
    await kube.delete('NodeClaim', { name: old.metadata.name ?? '' });
    const isGone = async (): Promise<boolean> =>
      (await kube.get('NodeClaim', { name: old.metadata.name ?? '' })) === undefined;
    await on.until('The claim gone', isGone, 180);
    await cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy(on.world, 'since', { cpu: '11', memory: '11Gi' });
    const launchSince = await hangingLaunch();

    await restore(stack, 'temporal');

    await on.until('What began since the backup followed', () => on.isOpen(launchSince), 150);
    await on.until('What ended since the backup ended', async () => !(await on.isOpen(launchBefore)), 150);
    await cloud.clearFaults();
    const since = await on.claimUnder('since');
    await deploy(on.world, 'afterwards', { cpu: '9', memory: '9Gi' });
    await on.runs('afterwards');
    expect((await on.machinesOf(since)).map(({ state }) => state)).toEqual(['running']);
    expect(await on.runs('since')).toBe(since.status?.nodeName);
  });
});
