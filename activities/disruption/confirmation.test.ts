import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { DisruptionMethod } from '../../workflows/messages.js';
import { confirmCandidates } from './validation.js';

// Rule `commands/checked-after-the-taint`.
describe('confirming candidates after the taint', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodeClaim', nodeClaim('a'));
    world.kube.put('NodeClaim', nodeClaim('b', { spec: { terminationGracePeriod: '1h' } }));
    await world.synced();
  });
  afterEach(() => world.stop());

  const candidates = ['a', 'b'].map((name) => ({
    claim: { name, uid: `uid-${name}` },
    node: `node-${name}`,
    nodePool: 'default',
  }));
  /** The cache has not heard of it yet: the pod was bound a moment ago. */
  const land = (node: string, more: { metadata?: object; status?: object } = {}): void => {
    world.kube.put('Pod', {
      metadata: { name: `on-${node}`, namespace: 'default', ...more.metadata },
      spec: { nodeName: node, containers: [] },
      status: { phase: 'Running', ...more.status },
    });
  };
  const kept = { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } };
  const blocked = async (method: DisruptionMethod): Promise<unknown> =>
    (await confirmCandidates(world.deps, { method, reason: 'Underutilized', candidates })).blocked;
  const why = (node: string): object => ({
    node,
    why: `pod default/on-${node} was bound to it and is marked do-not-disrupt`,
  });

  test('a do-not-disrupt pod in the API server keeps its node, whatever the cache has', async () => {
    land('node-b', kept);
    land('node-a', kept);

    expect(await blocked('multi')).toEqual([why('node-a'), why('node-b')]);
  });

  test('under drift it keeps the node only without a terminationGracePeriod', async () => {
    land('node-a', kept);
    land('node-b', kept);

    expect(await blocked('drift')).toEqual([why('node-a')]);
  });

  test('any pod to evict keeps a node that is removed as Empty, and no other', async () => {
    land('node-a');

    expect(await blocked('empty')).toEqual([{ node: 'node-a', why: 'pods were bound to it' }]);
    expect(await blocked('single')).toEqual([]);
  });

  test('a pause in the API server counts, whatever the caches have', async () => {
    const confirmed = () => confirmCandidates(world.deps, { method: 'multi', reason: 'Underutilized', candidates });
    expect(await confirmed()).toEqual({ blocked: [] });
    world.kube.put('DisruptionPause', {
      metadata: { name: 'freeze' },
      spec: { scope: { kind: 'Node', name: 'node-b' }, message: 'audit', requestedBy: 'ann' },
    } as never);
    expect(await confirmed()).toEqual({ blocked: [], paused: 'node node-b is paused by ann: audit' });
  });

  // Rule `invariants/failures-are-contained`.
  test('a node whose pods cannot be listed stays, and does not stop the others', async () => {
    const list = world.kube.list.bind(world.kube);
    const denied = new DomainError('Denied', 'no', { status: 403 });
    Object.assign(world.kube, {
      list: (...args: Parameters<typeof list>) =>
        args[1]?.fieldSelector === 'spec.nodeName=node-a' ? Promise.reject(denied) : list(...args),
    });

    expect(await blocked('multi')).toEqual([{ node: 'node-a', why: 'its pods cannot be listed: no' }]);
  });

  test('finished pods keep no node', async () => {
    land('node-a', { ...kept, status: { phase: 'Succeeded' } });
    land('node-b', { metadata: { ...kept.metadata, deletionTimestamp: '2026-01-05T12:00:00Z' } });

    expect(await blocked('multi')).toEqual([]);
  });
});
