import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { Pause } from '../../workflows/messages.js';
import type { PauseActivities } from './contract.js';
import { createPauseActivities } from './pauses.js';

describe('pauses in Kubernetes', () => {
  let world: ActivityWorld;
  let pauses: PauseActivities;
  const nodePool: Pause = { scope: { kind: 'nodePool', name: 'a' }, reason: 'release', actor: 'ann' };

  beforeEach(async () => {
    world = await createActivityWorld();
    pauses = createPauseActivities(world.deps);
  });
  afterEach(() => world.stop());

  const objects = () => world.kube.objects('DisruptionPause');
  const put = (name: string, spec: object): void =>
    void world.kube.put('DisruptionPause', { metadata: { name }, spec } as never);

  test('an order is written, changed and deleted', async () => {
    const until = world.clock.now + 3_600_000;
    await expect(pauses.syncPauses({ write: [nodePool], remove: [] })).resolves.toMatchObject({ pauses: [nodePool] });
    expect(objects().map(({ spec }) => spec)).toEqual([
      { scope: { kind: 'NodePool', name: 'a' }, message: 'release', requestedBy: 'ann' },
    ]);

    // Twice, as after a lost answer.
    for (let i = 0; i < 2; i++) await pauses.syncPauses({ write: [{ ...nodePool, until }], remove: [] });
    expect(objects()).toHaveLength(1);
    expect(objects()[0]?.spec.until).toBe(new Date(until).toISOString());
    await pauses.syncPauses({ write: [nodePool], remove: [] });
    expect(objects()[0]?.spec.until ?? undefined).toBeUndefined();

    await expect(pauses.syncPauses({ write: [], remove: [nodePool.scope] })).resolves.toMatchObject({ pauses: [] });
    expect(objects()).toEqual([]);
  });

  test('what a person writes counts, under any name; what is over does not, and goes', async () => {
    put('freeze', { scope: { kind: 'Cluster' }, message: 'audit' });
    put('over', {
      scope: { kind: 'Node', name: 'n1' },
      message: 'old',
      until: new Date(world.clock.now - 1).toISOString(),
    });

    await expect(pauses.syncPauses({ write: [], remove: [] })).resolves.toMatchObject({
      pauses: [{ scope: { kind: 'cluster' }, reason: 'audit', actor: 'DisruptionPause freeze' }],
    });
    expect(objects().map(({ metadata }) => metadata.name)).toEqual(['freeze']);
  });

  // Rule `invariants/failures-are-contained`.
  test('what the API server refuses is given back, and holds up no other', async () => {
    put('kept', { scope: { kind: 'Cluster' }, message: 'audit' });
    const other: Pause = { ...nodePool, scope: { kind: 'nodePool', name: 'b' } };
    const patch = world.kube.patch.bind(world.kube);
    const denied = new DomainError('Denied', 'policy says no', { status: 403 });
    Object.assign(world.kube, {
      patch: (...args: Parameters<typeof patch>) =>
        JSON.stringify(args[2]).includes('"a"') ? Promise.reject(denied) : patch(...args),
      delete: () => Promise.reject(denied),
    });

    await expect(pauses.syncPauses({ write: [nodePool, other], remove: [{ kind: 'cluster' }] })).resolves.toEqual({
      pauses: [{ scope: { kind: 'cluster' }, reason: 'audit', actor: 'DisruptionPause kept' }, other],
      unwritten: [nodePool],
      unremoved: [{ kind: 'cluster' }],
      why: 'policy says no',
    });
  });

  test('an order about a scope that a person paused changes that object', async () => {
    put('mine', { scope: { kind: 'NodePool', name: 'a' }, message: 'mine' });

    await pauses.syncPauses({ write: [nodePool], remove: [] });

    expect(objects().map(({ metadata, spec }) => [metadata.name, spec.message])).toEqual([['mine', 'release']]);
  });

  test('without the kind, Temporal has them alone', async () => {
    const absent = () => Promise.reject(Object.assign(new Error('404'), { name: 'DomainError', type: 'NotFound' }));
    const kube = Object.assign(Object.create(world.kube) as typeof world.kube, { list: absent });

    const without = createPauseActivities({ ...world.deps, kube });

    await expect(without.syncPauses({ write: [nodePool], remove: [] })).resolves.toEqual({ pauses: undefined });
  });
});
