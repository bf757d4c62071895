import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { finalizers } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim, quiet } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { createTerminationActivities } from './termination.js';
import type { TerminationActivities, TerminationStart } from './contract.js';

// Rule `invariants/pauses-hold`.
describe('deleting a NodeClaim while a pause is in force', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodeClaim', nodeClaim('old'));
  });
  afterEach(() => world.stop());

  const pause = (scope: object): void => {
    world.kube.put('DisruptionPause', { metadata: { name: 'audit' }, spec: { scope, message: 'audit' } } as never);
  };
  const begin = async (
    more: Partial<Parameters<TerminationActivities['beginTermination']>[0]> = {},
  ): Promise<TerminationStart> => {
    await world.synced();
    const { name = '', uid = '' } = world.kube.objects('NodeClaim')[0]!.metadata;
    const unlessPaused = { reason: 'Expired', node: 'node-old', nodePool: 'default' };
    const input = { claim: { name, uid }, deleteClaim: true, reason: 'expired', unlessPaused };
    return createTerminationActivities(world.deps).beginTermination({ ...input, ...more });
  };
  const isDeleted = (): boolean => world.kube.objects('NodeClaim')[0]?.metadata.deletionTimestamp !== undefined;

  test.each([
    ['the cluster', { kind: 'Cluster' }],
    ['its NodePool', { kind: 'NodePool', name: 'default' }],
    ['its node', { kind: 'Node', name: 'node-old' }],
    ['the reason', { kind: 'Reason', name: 'Expired' }],
  ])('is held while %s is paused', async (_, scope) => {
    pause(scope);

    const start = await begin();

    expect(start).toMatchObject({ state: 'paused', why: expect.stringMatching(/ is paused by .*: audit$/) });
    expect(isDeleted()).toBe(false);
  });

  test.each([
    ['another NodePool', { kind: 'NodePool', name: 'gpu' }],
    ['another node', { kind: 'Node', name: 'node-new' }],
    ['another reason', { kind: 'Reason', name: 'Drifted' }],
  ])('is done while %s is paused', async (_, scope) => {
    pause(scope);

    expect(await begin()).toMatchObject({ state: 'terminating' });
    expect(isDeleted()).toBe(true);
  });

  test('and removing its finalizer read it once in each step that writes it', async () => {
    const get = jest.spyOn(world.kube, 'get');
    const reads = (): number => get.mock.calls.filter(([kind]) => kind === 'NodeClaim').length;
    await begin({ deadline: world.clock.now + 60_000 });
    // Before the deletion, at the check of its finalizer, and after the deletion.
    expect(reads()).toBe(3);
    get.mockClear();

    const { name = '', uid = '' } = world.kube.objects('NodeClaim')[0]!.metadata;
    const claim = { name, uid };
    await createTerminationActivities(world.deps).finishTermination({ claim, reason: 'expired' });
    expect(reads()).toBe(1);
    expect(world.kube.objects('NodeClaim')).toEqual([]);
  });

  test('is done where no pause applies to the reason', async () => {
    pause({ kind: 'Cluster' });

    expect(await begin({ unlessPaused: undefined as never })).toMatchObject({ state: 'terminating' });
  });

  test('goes on in a second attempt where it is being deleted already', async () => {
    await begin();
    pause({ kind: 'Cluster' });

    expect(await begin()).toMatchObject({ state: 'terminating' });
  });
});

// Rule `commands/refused-deletions`.
describe('a NodeClaim whose deletion the API server refuses', () => {
  let world: ActivityWorld;
  const denied = new DomainError('Denied', 'policy says no', { status: 403 });

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodeClaim', nodeClaim('old'));
    await world.synced();
  });
  afterEach(() => world.stop());

  const begin = async (attempt: number, error: DomainError, unlessRefused?: true): Promise<TerminationStart> => {
    world.kube.delete = () => Promise.reject(error);
    const { name = '', uid = '' } = world.kube.objects('NodeClaim')[0]!.metadata;
    const input = { claim: { name, uid }, deleteClaim: true, reason: 'underutilized' };
    const activities = createTerminationActivities(world.deps);
    const run = async (): Promise<TerminationStart> =>
      activities.beginTermination({ ...input, ...(unlessRefused === undefined ? {} : { unlessRefused }) });
    return new MockActivityEnvironment({ attempt }, quiet).run(run);
  };

  test('is given up after some refusals, where it may stay', async () => {
    await expect(begin(3, denied, true)).rejects.toThrow('policy says no');
    const refused = { state: 'refused', why: 'the API server refuses it: policy says no' };
    await expect(begin(4, denied, true)).resolves.toEqual(refused);
  });

  test('is deleted by further attempts where its node has to go, and where the API server does not answer', async () => {
    await expect(begin(4, denied)).rejects.toThrow('policy says no');
    await expect(begin(4, new DomainError('Unavailable', 'no answer'), true)).rejects.toThrow('no answer');
  });
});

// Rule `termination/refused-taints`.
describe('a node whose taint the API server refuses', () => {
  let world: ActivityWorld;
  const providerID = 'fake:///a/i-1';
  const denied = new DomainError('Denied', 'policy says no', { status: 403 });
  let isRefused: (body: object) => boolean;

  beforeEach(async () => {
    world = await createActivityWorld();
    const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
    const made = nodeClaim('old', { status: { providerID, nodeName: 'n1', conditions } });
    world.kube.put('NodeClaim', { ...made, metadata: { ...made.metadata, finalizers: [finalizers.termination] } });
    const patch = world.kube.patch.bind(world.kube);
    isRefused = (body) => 'taints' in ((body as { spec?: object }).spec ?? {});
    world.kube.patch = ((...args: Parameters<typeof patch>) =>
      args[0] === 'Node' && isRefused(args[2]) ? Promise.reject(denied) : patch(...args)) as typeof patch;
  });
  afterEach(() => world.stop());

  const putNode = async (ready: 'True' | 'False', own: readonly string[] = [finalizers.termination]): Promise<void> => {
    world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [...own] },
      spec: { providerID },
      status: { conditions: [{ type: 'Ready', status: ready }] },
    });
    await world.synced();
  };
  const begin = async (more: { instanceEndsAt?: number } = {}): Promise<TerminationStart> => {
    const { name = '', uid = '' } = world.kube.objects('NodeClaim')[0]!.metadata;
    const input = { claim: { name, uid }, deleteClaim: true, reason: 'deleted', ...more };
    return createTerminationActivities(world.deps).beginTermination(input);
  };
  const isNodeDeleted = (): boolean => world.kube.objects('Node')[0]?.metadata.deletionTimestamp !== undefined;

  test('is not drained, since pods could come back', async () => {
    await putNode('True');
    await expect(begin()).rejects.toThrow('policy says no');
    expect(isNodeDeleted()).toBe(false);
  });

  test('is cordoned and drained where the cloud takes its instance, and says so', async () => {
    await putNode('True');
    await expect(begin({ instanceEndsAt: world.clock.now + 120_000 })).resolves.toMatchObject({ nodeName: 'n1' });
    expect(isNodeDeleted()).toBe(true);
    expect(world.kube.objects('Node')[0]?.spec?.unschedulable).toBe(true);
    expect(world.events.map(({ reason }) => reason)).toContain('FailedDraining');
  });

  test('is not drained where cordoning is refused too', async () => {
    await putNode('True');
    isRefused = () => true;
    await expect(begin({ instanceEndsAt: world.clock.now + 120_000 })).rejects.toThrow('policy says no');
    expect(isNodeDeleted()).toBe(false);
  });

  test('is removed where its instance is gone', async () => {
    await putNode('False');
    await expect(begin()).resolves.toMatchObject({ nodeName: 'n1', instanceGone: true });
    expect(isNodeDeleted()).toBe(true);
  });

  test('stays where nothing would keep it until its pods are gone', async () => {
    await putNode('True', []);
    await expect(begin({ instanceEndsAt: world.clock.now + 120_000 })).rejects.toThrow('policy says no');
    expect(isNodeDeleted()).toBe(false);
  });
});
