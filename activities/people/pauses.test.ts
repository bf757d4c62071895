import { activePauses } from '../../cluster/pauses.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { Pause } from '../../workflows/messages.js';
import type { PauseActivities } from './contract.js';
import { createPauseActivities, deleteOverPauses } from './pauses.js';

// Rule `invariants/pauses-hold`.
describe('DisruptionPause objects', () => {
  let world: ActivityWorld;
  let pauses: PauseActivities;
  const ofPool: Pause = { scope: { kind: 'nodePool', name: 'a' }, reason: 'release', actor: 'ann' };

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('a'));
    pauses = createPauseActivities(world.deps);
  });
  afterEach(() => world.stop());

  const objects = () => world.kube.objects('DisruptionPause');
  const put = (name: string, spec: object): void =>
    void world.kube.put('DisruptionPause', { metadata: { name }, spec } as never);

  test('an order is created, changed and deleted as one', async () => {
    const until = world.clock.now + 3_600_000;
    await expect(pauses.writePause(ofPool)).resolves.toEqual([ofPool]);
    expect(objects().map(({ spec }) => spec)).toEqual([
      { scope: { kind: 'NodePool', name: 'a' }, message: 'release', requestedBy: 'ann' },
    ]);

    // Twice, as after a lost answer.
    for (let i = 0; i < 2; i++) await pauses.writePause({ ...ofPool, until });
    expect(objects()).toHaveLength(1);
    expect(objects()[0]?.spec.until).toBe(new Date(until).toISOString());
    await pauses.writePause(ofPool);
    expect(objects()[0]?.spec.until ?? undefined).toBeUndefined();

    await expect(pauses.endPause({ scope: ofPool.scope })).resolves.toEqual([]);
    expect(objects()).toEqual([]);
  });

  test('a pause written by a person counts under any name, an order about its scope changes it, and an expired one is deleted', async () => {
    put('by-hand', { scope: { kind: 'NodePool', name: 'a' }, message: 'mine' });
    put('over', { scope: { kind: 'Cluster' }, message: 'old', until: new Date(world.clock.now).toISOString() });
    expect(await activePauses(world.deps)).toMatchObject([{ actor: 'DisruptionPause by-hand', reason: 'mine' }]);

    await pauses.writePause(ofPool);
    await deleteOverPauses(world.deps);

    expect(objects().map(({ metadata, spec }) => [metadata.name, spec.message])).toEqual([['by-hand', 'release']]);
  });

  test.each([
    ['a scope that is not paused', () => pauses.endPause({ scope: { kind: 'cluster' } }), 'NotPaused'],
    [
      'a NodePool that there is not',
      () => pauses.writePause({ ...ofPool, scope: { kind: 'nodePool', name: 'b' } }),
      'UnknownScope',
    ],
  ])('an invalid pause is refused with what was found: %s', async (_name, order, type) => {
    await expect(order()).rejects.toMatchObject({ type, nonRetryable: true });
  });

  test('without the CRD nothing is paused, and an order says that it is missing', async () => {
    const missing = new DomainError('NotFound', 'no such kind', { status: 404 });
    Object.assign(world.kube, { list: () => Promise.reject(missing) });
    expect(await activePauses(world.deps)).toEqual([]);
    await expect(pauses.writePause({ ...ofPool, scope: { kind: 'cluster' } })).rejects.toMatchObject({
      type: 'NotInstalled',
    });
  });
});
