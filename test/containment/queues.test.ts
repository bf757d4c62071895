import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from '../live/world.js';
import { containment, instanceOf } from './containment.js';

// What waits holds no slot, and an interruption waits behind nothing.

/** More than any queue has slots. */
const endingNodes = 220;
const slowType = 'c5.large';
const slowTaint = { key: 'example.com/slow', effect: 'NoSchedule' };

const on = containment('queues', async (world) => {
  await createNodeClass(world, 'default');
  const spec = { disruption: { consolidateAfter: 'Never' } };
  await createNodePool(world, 'default', { spec });
  // Nothing is planned onto the nodes that end.
  await createNodePool(world, 'slow', { spec, template: { taints: [slowTaint] } });
});

/** A claim created by hand: it is launched as any other. */
async function createClaim(name: string): Promise<void> {
  await on.world.kube.create('NodeClaim', {
    metadata: { name, labels: { 'karpenter.sh/nodepool': 'slow' } },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      taints: [slowTaint],
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [slowType] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      ],
      expireAfter: 'Never',
    },
  } as never);
}

async function claimsOf(pool: string): Promise<NodeClaim[]> {
  return (await on.world.kube.list('NodeClaim')).filter(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool,
  );
}

async function ending(): Promise<string[]> {
  const instances = await on.world.cloud.instances();
  return instances.filter(({ state }) => state === 'shutting-down').map(({ id }) => id);
}

describe('as many instances are slow to terminate as there are activity slots', () => {
  test('an interrupted node is drained and replaced at once', async () => {
    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(on.world, 'web'), within(180));
    const claim = await observe(
      'The claim initialized',
      async () => (await claimsOf('default')).find(({ status }) => isTrue(status?.conditions, 'Initialized')),
      within(60),
    );

    await on.world.cloud.configure({ joiner: { neverJoin: [slowType] } });
    const names = Array.from({ length: endingNodes }, (_, index) => `slow-${index}`);
    for (const name of names) await createClaim(name);
    const launched = await observe(
      'Every slow claim with its instance',
      async () => {
        const claims = await claimsOf('slow');
        return claims.length === endingNodes && claims.every((one) => instanceOf(one) !== '') ? claims : undefined;
      },
      within(480),
    );
    await on.world.cloud.configure({ shuttingDownMs: 3_600_000 });
    for (const name of names) await on.world.kube.delete('NodeClaim', { name });
    await observe(
      'Every slow instance ending',
      async () => (await ending()).length >= endingNodes,
      within(480),
      async () => `${(await ending()).length} are`,
    );

    await on.world.cloud.interruptSpot(instanceOf(claim), { terminate: false });

    const next = await observe(
      'The pod running on another node',
      async () => {
        const at = await nodeOf(on.world, 'web');
        return at === undefined || at === node ? undefined : at;
      },
      within(110),
      async () =>
        `${(await claimsOf('default')).length} claims, the pod on ${(await nodeOf(on.world, 'web')) ?? 'no node'}`,
    );
    expect(next).not.toBe(node);
    await observe(
      'The interrupted instance ending',
      async () => (await ending()).includes(instanceOf(claim)),
      within(110),
    );
    // All of them still wait; then each is seen to its end.
    expect((await claimsOf('slow')).length).toBe(endingNodes);
    for (const id of [...launched.map(instanceOf), instanceOf(claim)]) {
      await on.world.cloud.setInstanceState(id, 'terminated');
    }
    await observe(
      'Every claim that was deleted gone',
      async () => (await claimsOf('slow')).length === 0,
      within(180),
      async () => `${(await claimsOf('slow')).length} are left`,
    );
  });
});
