import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { labels } from '../../api/labels.js';
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

  const patience = { totalMs: 20_000, perCallMs: 5 };

  test('ends when the claim has its instance', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1'));
    await world.synced();
    const looking = new AwaitedInstances(world.deps, { ...patience, perCallMs: 60_000 }).missing(forever);
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    await expect(looking).resolves.toEqual([]);
  });

  test('is short in each look, and names the claims', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1'));
    await world.synced();
    const instances = new AwaitedInstances(world.deps, patience);

    await expect(instances.missing(forever)).resolves.toEqual(['c1']);
    await expect(instances.missing(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });

  test('is not repeated for a claim that was waited for in vain, and is done for a later one', async () => {
    world.kube.put('NodeClaim', nodeClaim('stuck'));
    await world.synced();
    const instances = new AwaitedInstances(world.deps, patience);
    await instances.missing(forever);

    world.clock.now += patience.totalMs;
    await expect(instances.missing(forever)).resolves.toEqual([]);

    world.kube.put('NodeClaim', nodeClaim('fresh'));
    await world.synced();
    await expect(instances.missing(forever)).resolves.toEqual(['fresh']);
  });

  test('is not done for a claim that is being deleted', async () => {
    const claim = nodeClaim('c1');
    const deletionTimestamp = '2026-01-05T11:00:00Z';
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, deletionTimestamp, finalizers: ['x'] } });
    await world.synced();

    await expect(new AwaitedInstances(world.deps, patience).missing(forever)).resolves.toEqual([]);
  });

  test('is not done for a claim of one type, whose room is known', async () => {
    const only = { key: labels.instanceType, operator: 'In' as const, values: ['m5.large'] };
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { requirements: [only] } }));
    world.kube.put('NodeClaim', nodeClaim('c2', { spec: { requirements: [{ ...only, values: ['a', 'b'] }] } }));
    await world.synced();

    await expect(new AwaitedInstances(world.deps, patience).missing(forever)).resolves.toEqual(['c2']);
  });
});
