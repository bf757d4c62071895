import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CloudInstance } from '../cloud/port.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import type { OperatorContext } from './context.js';
import { followReservation, reservedClaims } from './reservations.js';
import type { Starter } from './starter.js';

const reserved = {
  'karpenter.sh/nodepool': 'default',
  'karpenter.sh/capacity-type': 'reserved',
  'karpenter.k8s.aws/capacity-reservation-id': 'cr-1',
  'karpenter.k8s.aws/capacity-reservation-type': 'capacity-block',
};

let world: ActivityWorld;
let terminated: unknown[][];

beforeEach(async () => {
  world = await createActivityWorld();
  terminated = [];
  const claim = nodeClaim('a', { status: { providerID: 'fake:///a/i-a' } });
  world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: reserved } });
  world.kube.put('Node', {
    metadata: { name: 'node-a', labels: reserved },
    spec: { providerID: 'fake:///a/i-a' },
  });
  await world.synced();
});
afterEach(() => world.stop());

const context = (capacityType: string): Omit<OperatorContext, 'window' | 'workflows'> => ({
  ...world.deps,
  cloud: Object.assign(Object.create(world.cloud) as typeof world.cloud, {
    get: () => Promise.resolve({ capacityType } as CloudInstance),
  }),
  starter: { terminate: (...args: unknown[]) => Promise.resolve(terminated.push(args)) } as unknown as Starter,
});

const labelsOf = async (kind: 'NodeClaim' | 'Node', name: string) =>
  (await world.kube.get(kind, { name }))?.metadata.labels;

test('a reserved instance that became on-demand gets that label on claim and node (reserved-capacity/turned-on-demand)', async () => {
  await followReservation(context('reserved'), 'a');
  expect(await labelsOf('NodeClaim', 'a')).toMatchObject(reserved);
  await followReservation(context('on-demand'), 'a');
  const onDemand = { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/capacity-type': 'on-demand' };
  expect(await labelsOf('NodeClaim', 'a')).toEqual(onDemand);
  expect(await labelsOf('Node', 'node-a')).toEqual(onDemand);
  expect(terminated).toEqual([]);
});

test('a node in a capacity block that is about to end is terminated (reserved-capacity/block-ends)', async () => {
  world.kube.put('EC2NodeClass', {
    metadata: { name: 'default' },
    spec: {} as never,
    status: { capacityReservations: [{ id: 'cr-1', state: 'expiring' }] } as never,
  });
  await world.synced();
  await followReservation(context('reserved'), 'a');
  expect(terminated).toMatchObject([[{ name: 'a' }, 'default', 'capacity_block_expiring']]);
});

test("a node that still has its reservation's labels after its claim lost them is updated too", async () => {
  const claim = nodeClaim('a', { status: { providerID: 'fake:///a/i-a' } });
  world.kube.put('NodeClaim', claim);
  await world.synced();
  expect(reservedClaims(context('on-demand'))).toEqual(['a']);

  await followReservation(context('on-demand'), 'a');

  expect(await labelsOf('Node', 'node-a')).toEqual({
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/capacity-type': 'on-demand',
  });
});

test('a reservation that no node class selects any more is read from the cloud', async () => {
  const asked: string[] = [];
  const { cloud, ...rest } = context('reserved');
  const isReservationEnding = (id: string): Promise<boolean> => Promise.resolve(asked.push(id) > 0);

  await followReservation({ ...rest, cloud: Object.assign(cloud, { isReservationEnding }) }, 'a');

  expect(asked).toEqual(['cr-1']);
  expect(terminated).toMatchObject([[{ name: 'a' }, 'default', 'capacity_block_expiring']]);
});
