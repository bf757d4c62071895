import { expect, test } from '@jest/globals';
import type { CloudProvider } from '../../cloud/port.js';
import { createActivityWorld, nodeClaim } from '../../test/builders/activity-world.js';
import { createTerminationActivities } from './termination.js';

test('the launch time of an instance is passed to the cloud with its termination, since EC2 may not show it yet', async () => {
  const world = await createActivityWorld();
  const at = '2026-01-05T11:59:58Z';
  const conditions = [{ type: 'Launched', status: 'True' as const, lastTransitionTime: at }];
  world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', conditions } }));
  await world.synced();
  const asked: unknown[] = [];
  const cloud = Object.assign(Object.create(world.deps.cloud) as CloudProvider, {
    terminate: (...args: unknown[]) => Promise.resolve(asked.push(args) > 0 ? 'terminating' : 'gone'),
  });
  const activities = createTerminationActivities({ ...world.deps, cloud });

  const end = (name: string) =>
    activities.finishTermination({ claim: { name, uid: name }, providerId: 'fake:///a/i-1', reason: 'empty' });
  await expect(end('c1')).rejects.toMatchObject({ type: 'Waiting' });
  await expect(end('unknown')).rejects.toMatchObject({ type: 'Waiting' });

  expect(asked).toEqual([
    ['fake:///a/i-1', Date.parse(at)],
    ['fake:///a/i-1', undefined],
  ]);
  world.stop();
});
