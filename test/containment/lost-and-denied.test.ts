import { describe, expect, test } from '@jest/globals';
import { isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { createDefaultPool, deploy } from '../live/world.js';
import { instanceOf, isInitialized, large, sharedContainment } from './containment.js';

// Lost answers, missing permissions, objects and workflows deleted by hand: each affects only its object, which recovers.
const on = sharedContainment(createDefaultPool);

describe('lost answers and denied calls', () => {
  test('lost answer that there is no capacity: the launch ends with its claim, and the pod gets a node once there is capacity', async () => {
    const { cloud } = on.world;
    await cloud.setPools([{}]);
    await cloud.addFault({ kind: 'lost', service: 'ec2', action: 'CreateFleet' });
    await deploy(on.world, 'unanswered', large);
    await on.until('The answer lost', async () => (await cloud.faults()).length === 0, 120);
    await cloud.setPools([]);

    const claim = await on.claimUnder('unanswered');
    expect(await on.machinesOf(claim)).toHaveLength(1);
  });

  test('denied ec2:CreateTags: the node is initialized all the same, and its instance is tagged once the call is allowed', async () => {
    const { cloud } = on.world;
    const denied = {
      code: 'UnauthorizedOperation',
      message: 'You are not authorized to perform ec2:CreateTags',
      status: 403,
    };
    await cloud.addFault({ kind: 'error', service: 'ec2', action: 'CreateTags', times: 0, ...denied });
    await deploy(on.world, 'untagged', large);
    const claim = await on.claimUnder('untagged');
    const nameTag = async (): Promise<string | undefined> =>
      (await cloud.instances()).find(({ id }) => id === instanceOf(claim))?.tags['Name'];
    expect(isInitialized(claim)).toBe(true);
    const before = await nameTag();

    await cloud.clearFaults();

    expect(before).not.toBe(claim.status?.nodeName);
    await on.until('The tag', async () => (await nameTag()) === claim.status?.nodeName, 180);
  });

  test('finalizer of a claim removed by hand: the instance is terminated, its Node is removed, and the pod runs on another node', async () => {
    const { kube } = on.world;
    await deploy(on.world, 'orphan', large);
    const claim = await on.claimUnder('orphan');
    const [name, node] = [claim.metadata.name ?? '', claim.status?.nodeName ?? ''];
    await kube.patch('NodeClaim', { name }, { metadata: { finalizers: null } });
    await kube.delete('NodeClaim', { name });
    await kube.delete('Node', { name: node });

    await on.until('The Node gone', async () => (await kube.get('Node', { name: node })) === undefined, 300);
    await on.runs('orphan', node);
    await on.until(
      'Its instance ended',
      async () => (await on.machinesOf(claim)).every(({ state }) => state === 'terminated'),
      300,
    );
  });

  // Rules `interruption/recorded-first`, `interruption/restarted`.
  test('interruption workflow terminated right after its start: the notice is kept on the claim, and the node is replaced and drained', async () => {
    const { kube, cloud } = on.world;
    await deploy(on.world, 'noticed', large);
    const claim = await on.claimUnder('noticed');
    const node = claim.status?.nodeName ?? '';
    const handling = workflowIds.interrupt(on.cluster, instanceOf(claim));

    await cloud.interruptSpot(instanceOf(claim), { terminate: false });
    const terminated = async (): Promise<boolean> =>
      on
        .workflow(handling)
        .terminate('containment test')
        .then(() => true)
        .catch(() => false);
    await on.until('The workflow', terminated, 60);
    const noted = await kube.get('NodeClaim', { name: claim.metadata.name ?? '' });
    expect(noted === undefined || noted.metadata.annotations?.['stowage.dev/interruption'] !== undefined).toBe(true);

    await on.runs('noticed', node);
    await on.until('The claim gone', async () => (await kube.get('NodeClaim', { name: claim.metadata.name ?? '' })) === undefined, 240); // prettier-ignore
    await expect(on.workflow(handling).result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(isTrue(claim.status?.conditions, 'Initialized')).toBe(true);
  });
});
