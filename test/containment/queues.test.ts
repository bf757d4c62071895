import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { observe } from '../../devstack/demo/observe.js';
import {
  createNodeClass,
  createNodePool,
  deploy,
  nodeOf,
  startLiveWorld,
  within,
  type LiveWorld,
} from '../live/world.js';

// "Contained" 11: what waits holds no slot, and an interruption waits behind nothing.
let world: LiveWorld;

/** More than any queue has slots. */
const endingNodes = 220;
const slowType = 'c5.large';
const slowTaint = { key: 'example.com/slow', effect: 'NoSchedule' };

beforeAll(async () => {
  world = await startLiveWorld('queues');
  await createNodeClass(world, 'default');
  const spec = { disruption: { consolidateAfter: 'Never' } };
  await createNodePool(world, 'default', { spec });
  // Nothing is planned onto the nodes that end.
  await createNodePool(world, 'slow', { spec, template: { taints: [slowTaint] } });
}, 600_000);

afterAll(async () => {
  await world.stop();
}, 60_000);

/** A claim that somebody creates by hand: it is launched as any other. */
async function createClaim(name: string): Promise<void> {
  await world.kube.create('NodeClaim', {
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
  return (await world.kube.list('NodeClaim')).filter(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool,
  );
}

const instanceOf = ({ status }: NodeClaim): string => status?.providerID?.split('/').at(-1) ?? '';

async function ending(): Promise<string[]> {
  const instances = await world.cloud.instances();
  return instances.filter(({ state }) => state === 'shutting-down').map(({ id }) => id);
}

describe('while more instances take their time to end than there are slots', () => {
  test('B11: an interrupted node is drained and replaced at once', async () => {
    await deploy(world, 'web', { cpu: '500m', memory: '512Mi' });
    const node = await observe('The pod running', () => nodeOf(world, 'web'), within(180));
    const claim = await observe(
      'The claim initialized',
      async () => (await claimsOf('default')).find(({ status }) => isTrue(status?.conditions, 'Initialized')),
      within(60),
    );

    await world.cloud.configure({ joiner: { neverJoin: [slowType] } });
    const names = Array.from({ length: endingNodes }, (_, index) => `slow-${index}`);
    for (const name of names) await createClaim(name);
    const launched = await observe(
      'Every slow claim with its instance',
      async () => {
        const claims = await claimsOf('slow');
        return claims.length === endingNodes && claims.every((one) => instanceOf(one) !== '') ? claims : undefined;
      },
      within(240),
    );
    await world.cloud.configure({ shuttingDownMs: 3_600_000 });
    for (const name of names) await world.kube.delete('NodeClaim', { name });
    await observe(
      'Every slow instance ending',
      async () => ((await ending()).length >= endingNodes ? true : undefined),
      within(240),
      async () => `${(await ending()).length} are`,
    );

    await world.cloud.interruptSpot(instanceOf(claim), { terminate: false });

    const next = await observe(
      'The pod running on another node',
      async () => {
        const at = await nodeOf(world, 'web');
        return at === undefined || at === node ? undefined : at;
      },
      within(110),
      async () =>
        `${(await claimsOf('default')).length} claims, the pod on ${(await nodeOf(world, 'web')) ?? 'no node'}`,
    );
    expect(next).not.toBe(node);
    await observe(
      'The interrupted instance ending',
      async () => ((await ending()).includes(instanceOf(claim)) ? true : undefined),
      within(110),
    );
    // All of them still wait; then each is seen to its end.
    expect((await claimsOf('slow')).length).toBe(endingNodes);
    for (const id of [...launched.map(instanceOf), instanceOf(claim)]) {
      await world.cloud.setInstanceState(id, 'terminated');
    }
    await observe(
      'Every claim that was deleted gone',
      async () => ((await claimsOf('slow')).length === 0 ? true : undefined),
      within(180),
      async () => `${(await claimsOf('slow')).length} are left`,
    );
  }, 900_000);
});
