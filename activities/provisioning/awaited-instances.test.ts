import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createActivityWorld, nodeClaim } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { AwaitedInstances } from './awaited-instances.js';

// Rule `provisioning/cache-is-current`.
describe('waiting for instances before planning', () => {
  let world: ActivityWorld;
  const forever = new AbortController().signal;

  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  test('ends when the claim has its instance', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1'));
    await world.synced();
    let settled = false;
    const settling = new AwaitedInstances(world.deps, 60_000).settle(forever).then(() => (settled = true));

    await Promise.resolve();
    expect(settled).toBe(false);
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    await settling;
  });

  test('a claim that is waited for in vain is not waited for again; one that comes later is', async () => {
    world.kube.put('NodeClaim', nodeClaim('stuck'));
    await world.synced();
    const instances = new AwaitedInstances(world.deps, 20);
    await instances.settle(forever);

    // It would wait for as long as the signal lets it, were it to wait at all.
    const patient = AbortSignal.abort(new Error('waited again'));
    await instances.settle(patient);

    world.kube.put('NodeClaim', nodeClaim('fresh'));
    await world.synced();
    await expect(instances.settle(patient)).rejects.toThrow('waited again');
  });

  test('a claim that is going has no instance to wait for', async () => {
    const claim = nodeClaim('c1');
    const deletionTimestamp = '2026-01-05T11:00:00Z';
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, deletionTimestamp, finalizers: ['x'] } });
    await world.synced();

    await new AwaitedInstances(world.deps, 60_000).settle(AbortSignal.abort(new Error('waited')));
  });
});
