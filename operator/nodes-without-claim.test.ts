import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { finalizers, labels } from '../api/labels.js';
import { silentLog } from '../test/simulation/silent.js';
import { createActivityWorld, nodeClaim, type ActivityWorld } from '../test/builders/activity-world.js';
import { watchNodesWithoutClaim } from './nodes-without-claim.js';
import type { Starter } from './starter.js';

const providerID = 'fake:///a/i-1';
const collectGarbage = vi.fn(() => Promise.resolve());
let world: ActivityWorld;
let stop: () => void;

beforeEach(async () => {
  collectGarbage.mockClear();
  world = await createActivityWorld();
  stop = watchNodesWithoutClaim({
    cache: world.deps.cache,
    log: silentLog,
    starter: { collectGarbage } as unknown as Starter,
  });
});
afterEach(() => {
  stop();
  world.stop();
});

/** A Node that somebody deletes, and what the watch has seen of that. */
async function deleted(metadata: object = {}): Promise<void> {
  const own = { [labels.nodePool]: 'default' };
  world.kube.put('Node', {
    metadata: { name: 'n1', labels: own, finalizers: [finalizers.termination], ...metadata },
    spec: { providerID },
  });
  await world.kube.delete('Node', { name: 'n1' });
  await world.synced();
}

test('garbage is collected for a Node without a claim (garbage-collection/nodes-without-claim)', async () => {
  await deleted();
  expect(collectGarbage).toHaveBeenCalledTimes(1);
});

test('not for one with a claim, until that is gone', async () => {
  world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID } }));
  await world.synced();
  await deleted();
  expect(collectGarbage).not.toHaveBeenCalled();
  world.kube.remove('NodeClaim', { name: 'c1' });
  await world.synced();
  expect(collectGarbage).toHaveBeenCalledTimes(1);
});

test('not for one of no NodePool, nor for one that others hold', async () => {
  await deleted({ labels: {} });
  await deleted({ finalizers: ['example.com/held'] });
  expect(collectGarbage).not.toHaveBeenCalled();
});
