import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Taint } from '../../api/kubernetes.js';
import { labels, taints } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { ClusterChanges } from '../disruption/cluster-changes.js';
import type { ConsolidationActivities } from './contract.js';
import type { DisruptionActivities } from '../disruption/contract.js';
import { createDisruptionActivities } from '../disruption/disruption.js';
import { removeLeftOvers } from '../disruption/left-over-taints.js';
import { createConsolidationActivities } from './consolidation.js';

const dedicated: Taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };

describe('steering of evicted pods by taints', () => {
  let world: ActivityWorld;
  let activities: ConsolidationActivities & DisruptionActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    activities = { ...createDisruptionActivities(world.deps), ...createConsolidationActivities(world.deps) };
    world.kube.put('NodeClaim', nodeClaim('from'));
    world.kube.put('NodeClaim', nodeClaim('beside'));
  });
  afterEach(() => world.stop());

  function putNode(name: string, present: readonly Taint[] = [], cpu = '0'): void {
    world.kube.put('NodeClaim', nodeClaim(name, { status: { providerID: `fake:///a/i-${name}` } }));
    world.kube.put('Node', {
      metadata: { name: `node-${name}`, labels: { [labels.nodePool]: 'default' } },
      spec: { providerID: `fake:///a/i-${name}`, taints: [...present] },
      status: { allocatable: { cpu: '4', memory: '16Gi' } },
    });
    world.kube.put('Pod', {
      metadata: { name: `on-${name}`, namespace: 'default' },
      spec: { nodeName: `node-${name}`, containers: [{ name: 'app', resources: { requests: { cpu } } }] },
      status: { phase: 'Running' },
    });
  }
  const taintsOf = async (name: string) => (await world.kube.get('Node', { name: `node-${name}` }))?.spec?.taints ?? [];
  const steeredNodes = (): string[] =>
    world.kube
      .objects('Node')
      .filter(({ spec }) => spec?.taints?.some(({ key }) => key === taints.steer.key))
      .map(({ metadata }) => metadata.name ?? '')
      .sort();
  const from = { name: 'from', uid: 'uid-from' };
  const steer = async (targets: readonly string[], claim = from): Promise<void> => {
    await activities.steerPods({ claims: [claim], targets });
    await world.synced();
  };
  const versions = (): unknown[] => world.kube.objects('Node').map(({ metadata }) => metadata.resourceVersion);

  test('taints other nodes with PreferNoSchedule, whether a target is given as node or claim', async () => {
    for (const name of ['a', 'b']) putNode(name);
    putNode('c', [dedicated]);
    world.kube.put('Node', { metadata: { name: 'of-somebody-else' }, spec: {} });
    await world.synced();

    await steer(['node-a', 'b']);

    expect(await taintsOf('c')).toEqual([dedicated, { key: 'stowage.dev/steer', effect: 'PreferNoSchedule' }]);
    expect(steeredNodes()).toEqual(['node-c']);
  });

  test('leaves deleting and unknown nodes alone', async () => {
    putNode('a');
    putNode('going', [taints.disrupted]);
    await world.synced();

    await steer(['node-a', 'gone']);

    expect(steeredNodes()).toEqual([]);
  });

  test('follows the targets, writes only changes, and removes all taints in the end', async () => {
    for (const name of ['a', 'b']) putNode(name);
    putNode('c', [dedicated]);
    await world.synced();
    await steer(['node-a']);
    expect(steeredNodes()).toEqual(['node-b', 'node-c']);

    const before = versions();
    await world.synced();
    const get = jest.spyOn(world.kube, 'get');
    await steer(['node-a']);
    expect(versions()).toEqual(before);
    expect(get).not.toHaveBeenCalledWith('Node', expect.anything());
    get.mockRestore();

    await steer(['node-a', 'node-b']);
    expect(steeredNodes()).toEqual(['node-c']);

    // What the call before gave back is freed even where the cache does not show it yet.
    await steer([]);
    expect(steeredNodes()).toEqual([]);
    expect(await taintsOf('c')).toEqual([dedicated]);
  });

  test('of many nodes taints the fifty emptiest', async () => {
    for (let i = 0; i < 60; i++) putNode(String(i).padStart(2, '0'), [], i < 10 ? '3' : '1');
    putNode('target');
    await world.synced();

    await steer(['node-target']);

    expect(steeredNodes()).toEqual(Array.from({ length: 50 }, (_, i) => `node-${i + 10}`));
  });

  test('of several drains goes to the targets of all of them', async () => {
    for (const name of ['a', 'b', 'c']) putNode(name);
    await world.synced();

    await steer(['node-a']);
    await steer(['node-b'], { name: 'beside', uid: 'uid-beside' });
    expect(steeredNodes()).toEqual(['node-c']);
    await steer([]);
    expect(steeredNodes()).toEqual(['node-a', 'node-c']);
  });

  test('what a drain left is removed once its NodeClaim is gone, stays, or drains for five minutes', async () => {
    for (const name of ['a', 'b']) putNode(name);
    await world.synced();
    const isLeft = async (): Promise<boolean> => {
      await world.synced();
      await removeLeftOvers(world.deps, { commands: [] });
      await world.synced();
      return steeredNodes().length > 0;
    };

    await steer(['node-a']);
    expect(await isLeft()).toBe(true);
    await activities.untaintCandidates({ candidates: [{ claim: from, node: 'node-from' }] });
    expect(await isLeft()).toBe(false);

    await steer(['node-a']);
    const begun = new Date(world.deps.now()).toISOString();
    const steered = world.kube.objects('NodeClaim').find(({ metadata }) => metadata.name === 'from')!;
    world.kube.put('NodeClaim', { ...steered, metadata: { ...steered.metadata, deletionTimestamp: begun } });
    expect(await isLeft()).toBe(true);
    world.clock.now += 5 * 60_000;
    expect(await isLeft()).toBe(false);
  });

  // Rule `invariants/failures-are-contained`.
  test.each([
    ['an admission policy refuses', new DomainError('Denied', 'policy says no', { status: 403 })],
    ['without an answer', new DomainError('Unavailable', 'timeout')],
  ])('a node that %s does not stop the others, and is reported until its taint is removed', async (_, error) => {
    for (const name of ['a', 'b', 'c']) putNode(name);
    await world.synced();
    await steer(['node-a']);
    const patch = world.kube.patch.bind(world.kube);
    const refusing = (node: string | undefined): void =>
      void Object.assign(world.kube, {
        patch: (...args: Parameters<typeof patch>) => (args[1].name === node ? Promise.reject(error) : patch(...args)),
      });

    refusing('node-b');
    await steer([]);
    expect(steeredNodes()).toEqual(['node-b']);
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});

    refusing(undefined);
    world.kube.remove('NodeClaim', { name: 'from' });
    await world.synced();
    await removeLeftOvers(world.deps, { commands: [] });
    expect(steeredNodes()).toEqual([]);
  });

  test('is no change after which consolidation looks again', async () => {
    for (const name of ['a', 'b']) putNode(name);
    await world.synced();
    const changes = new ClusterChanges(world.deps.cache);

    await steer(['node-a']);
    await steer([]);
    await world.synced();
    expect(changes.count).toBe(0);

    await activities.taintCandidates({
      reason: 'Empty',
      candidates: [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' }],
    });
    await world.synced();
    expect(changes.count).toBeGreaterThan(0);
  });
});
