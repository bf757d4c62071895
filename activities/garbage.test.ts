import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { instanceTags } from '../api/labels.js';
import type { CloudInstance } from '../cloud/port.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { collectClaims, collectInstances } from './garbage.js';

describe('collecting garbage', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  const orphan = (ageSeconds: number): CloudInstance => ({
    providerId: 'fake:///a/i-1',
    instanceId: 'i-1',
    state: 'running',
    instanceType: 'm5.xlarge',
    zone: 'a',
    capacityType: 'spot',
    launchedAt: world.clock.now - ageSeconds * 1000,
    tags: {},
    labels: {},
  });
  const registered = { conditions: [{ type: 'Registered', status: 'True' as const }], providerID: 'fake:///a/i-1' };

  // 75: Given an instance tagged by us without NodeClaim older than 30s, then it is terminated with its Node.
  test('an instance without a claim goes after 30 seconds, with its Node', async () => {
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    await world.synced();
    world.cloud.addOrphan(orphan(29));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [] });

    world.clock.now += 2000;

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'] });
    expect(world.kube.objects('Node')).toEqual([]);
  });

  test('an instance of a claim stays', async () => {
    world.cloud.addOrphan(orphan(3600));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    expect(await collectInstances(world.deps)).toEqual({ terminated: [] });
  });

  test('while a claim launches, an unknown instance may be its, until the launch timeout', async () => {
    world.cloud.addOrphan(orphan(120));
    world.kube.put('NodeClaim', nodeClaim('c1'));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [] });

    world.clock.now += 300_000;

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'] });
  });

  test('an instance of a claim that has not been told of it stays, however long the API server was away', async () => {
    world.cloud.addOrphan({ ...orphan(3600), tags: { [instanceTags.nodeClaimUid]: 'uid-c1' } });
    world.kube.put('NodeClaim', nodeClaim('c1'));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [] });

    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///b/i-2' } }));

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'] });
  });

  test('a registered claim without instance and node goes; with a Ready node it stays', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: registered }));
    world.kube.put('Node', {
      metadata: { name: 'n1' },
      spec: { providerID: 'fake:///a/i-1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    await world.synced();
    expect(await collectClaims(world.deps)).toEqual({ deleted: [] });

    world.kube.remove('Node', { name: 'n1' });
    await world.synced();

    expect(await collectClaims(world.deps)).toEqual({ deleted: ['c1'] });
  });
});
