import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DrainInput } from '../../activities/termination/contract.js';
import { workflowIds } from '../../core/ids.js';
import { interruptionSignal, phaseQuery, searchAttributes } from '../../workflows/messages.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { plannedWithout, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { knownInstance } from './fixtures.js';
import { cluster, durationOf, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

describe('interruption notices and rebalance recommendations', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;
  let instanceId: string;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-old', uid: `uid-taken-${activities.serial}` };
    instanceId = `i-${activities.serial}`;
    activities.instance = { ...knownInstance(claim), rebalance: 'Replace' };
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    await startProvision(rig);
  });
  afterEach(async () => rig.finish());

  type Handle = Awaited<ReturnType<WorkflowRig['start']>>;
  const notify = async (handle: Handle, kind: string, messageId = kind): Promise<void> =>
    handle.signal(interruptionSignal, { kind, instanceId, at: await rig.now(), messageId });
  const interrupt = async (kind: string): Promise<Handle> => {
    const handle = await rig.start('handleInterruption', workflowIds.interrupt(cluster, instanceId), {
      cluster,
      instanceId,
    });
    await notify(handle, kind);
    return handle;
  };
  const begun = () => activities.inputsOf<{ deadline?: number; reason: string }>('beginTermination');

  test('a recommendation replaces the node first and drains it with full protection, where the policy says so', async () => {
    const handle = await interrupt('rebalance_recommendation');

    const result = await handle.result();

    expect(result).toMatchObject({ outcome: 'drained', kinds: ['rebalance_recommendation'] });
    expect(result.replacements).toHaveLength(1);
    expect(result.secondsToSpare).toBeUndefined();
    const order = activities.callsOf().filter((name) => /taint|launchInstance|drainNode/.test(name));
    expect(order).toEqual(['taintCandidates', 'launchInstance', 'drainNode']);
    const [drain] = activities.inputsOf<DrainInput>('drainNode');
    expect(drain?.deadline).toBeUndefined();
    expect(drain?.instanceEndsAt).toBeUndefined();
  });

  test('an instance whose claim does not name it yet is looked up again', async () => {
    const known = activities.instance;
    activities.instance = { state: 'unknown', mayBeLaunching: true };
    const inspect = activities.inspectInstance.bind(activities);
    activities.inspectInstance = async () => {
      if (activities.callsOf('inspectInstance').length > 3) activities.instance = known;
      return inspect();
    };

    const handle = await interrupt('spot_interrupted');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(activities.callsOf('inspectInstance')).toHaveLength(4);
  });

  test("an instance that no claim ever names is looked up until the notice's two minutes are over", async () => {
    activities.instance = { state: 'unknown', mayBeLaunching: true };

    const handle = await interrupt('spot_interrupted');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'unknown-instance' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(115_000);
    expect(activities.callsOf('inspectInstance').length).toBeLessThan(10);
  });

  test('a recommendation is only recorded where no policy acts on it', async () => {
    activities.instance = knownInstance(claim);

    await expect((await interrupt('rebalance_recommendation')).result()).resolves.toMatchObject({ outcome: 'noted' });
    expect(activities.callsOf()).not.toContain('taintCandidates');
  });

  test('a recommendation whose replacement cannot be launched leaves the node untainted', async () => {
    activities.plans = [{ ...emptyPlan, unplacedOfDeletingNodes: 3, unschedulable: 3 }];

    const handle = await interrupt('rebalance_recommendation');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'noted', replacements: [] });
    expect([...activities.tainted]).toEqual([]);
    expect(activities.callsOf()).not.toContain('drainNode');
    expect(await plannedWithout(rig, activities)).toEqual([]);
  });

  test('a notice after a recommendation uses its replacement, and the drain gets the end of the instance', async () => {
    activities.nodeStates = ['waiting'];
    const handle = await interrupt('rebalance_recommendation');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'replacing ahead');
    await rig.until(() => activities.callsOf('launchInstance').length === 1);
    await notify(handle, 'spot_interrupted');
    const at = await rig.now();
    activities.nodeStates = ['initialized'];

    const result = await handle.result();

    expect(result).toMatchObject({ outcome: 'drained', kinds: ['rebalance_recommendation', 'spot_interrupted'] });
    expect(activities.callsOf('launchInstance')).toHaveLength(1);
    expect(activities.callsOf('taintCandidates')).toHaveLength(1);
    const ends = activities.inputsOf<DrainInput>('drainNode')[0]?.instanceEndsAt ?? 0;
    expect(Math.abs(ends - (at + 120_000))).toBeLessThan(10_000);
    const { typedSearchAttributes } = await handle.describe();
    expect(typedSearchAttributes.get(searchAttributes.secondsToSpare)).toBe(result.secondsToSpare);
  });

  test('a spot notice during the drain for a rebalance recommendation sets the deadline of the drain', async () => {
    activities.stuck = true;
    const handle = await interrupt('rebalance_recommendation');
    await rig.until(() => activities.callsOf('drainNode').length > 0);

    await notify(handle, 'spot_interrupted');
    await rig.until(() => activities.inputsOf<DrainInput>('drainNode').at(-1)?.instanceEndsAt !== undefined);
    activities.stuck = false;

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(begun()).toHaveLength(1);
  });

  test('a repeated notice, and a recommendation after the notice, change nothing', async () => {
    activities.stuck = true;
    const handle = await interrupt('spot_interrupted');
    await rig.until(() => activities.callsOf('drainNode').length > 0);

    await notify(handle, 'spot_interrupted');
    await notify(handle, 'rebalance_recommendation');
    await notify(handle, 'spot_interrupted', 'spot_interrupted');
    activities.stuck = false;

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(activities.callsOf('taintCandidates')).toHaveLength(1);
    expect(begun()).toHaveLength(1);
    expect(activities.callsOf('setDeadline')).toEqual([]);
  });

  // Given system status failed 120s, then forced termination with a stamped timestamp.
  test.each(['instance_status', 'system_status'])(
    '%s: pods lose their protection at once, and the drain waits for no replacement',
    async (kind) => {
      const at = await rig.now();

      await expect((await interrupt(kind)).result()).resolves.toMatchObject({ outcome: 'drained', replacements: [] });

      expect(begun()[0]?.deadline).toBeGreaterThanOrEqual(at);
      expect(begun()[0]?.deadline).toBeLessThan(at + 30_000);
    },
  );

  // Rule `interruption/replaced-first`.
  test('a pod whose grace period takes all the time is evicted at once, and the other pods wait for the replacement', async () => {
    activities.instance = { ...knownInstance(claim), longestGraceMs: 600_000 };
    activities.nodeStates = ['waiting'];
    activities.dueAts.push((await rig.now()) + 70_000);
    const handle = await interrupt('spot_interrupted');
    await rig.until(() => activities.callsOf('launchInstance').length === 1);
    await rig.until(() => activities.callsOf('evictDue').length === 1);
    expect(activities.callsOf('beginTermination')).toEqual([]);
    activities.nodeStates = ['initialized'];

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(activities.callsOf('evictDue')).toHaveLength(1);
    expect(await handle.query(phaseQuery)).toBe('done');
  });

  test('where the replacement is late each pod is evicted in time for its grace period', async () => {
    activities.instance = { ...knownInstance(claim), longestGraceMs: 90_000 };
    activities.nodeStates = ['waiting'];
    const at = await rig.now();
    activities.dueAts.push(at + 40_000, at + 70_000);

    const handle = await interrupt('spot_interrupted');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained' });
    expect(activities.callsOf('evictDue')).toHaveLength(3);
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(65_000);
  });

  // Rule `interruption/restarted`.
  test('a terminated interruption is started again from the notice on its claim, and takes later notices from the queue', async () => {
    activities.nodeStates = ['waiting'];
    const first = await interrupt('spot_interrupted');
    await rig.until(() => activities.callsOf('taintCandidates').length > 0);
    await first.terminate('by hand');
    activities.nodeStates = ['initialized'];
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];

    const notice = { kind: 'spot_interrupted', instanceId, at: await rig.now(), messageId: 'from the taint' };
    const again = await rig.start('handleInterruption', workflowIds.interrupt(cluster, instanceId), {
      ...{ cluster, instanceId, notices: [notice] },
    });
    await notify(again, 'spot_interrupted');

    await expect(again.result()).resolves.toMatchObject({ outcome: 'drained', kinds: ['spot_interrupted'] });
    expect(begun()).toHaveLength(1);
  });

  // Rule `interruption/restarted`.
  test('a notice on a NodeClaim is acted upon only where the cloud confirms it, one from the queue at once', async () => {
    activities.stuck = true;
    const known = activities.instance;
    activities.instance = { state: 'refuted' };
    const notice = { kind: 'spot_interrupted', instanceId, at: await rig.now(), messageId: 'of the claim' } as const;
    const start = () =>
      rig.start('handleInterruption', workflowIds.interrupt(cluster, instanceId), {
        ...{ cluster, instanceId, notices: [notice] },
      });

    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'noted', replacements: [] });
    expect(activities.callsOf()).not.toContain('drainNode');

    activities.instance = known;
    const again = await start();
    await rig.until(() => activities.callsOf('drainNode').length > 0);
    activities.stuck = false;
    await again.result();
    await (await interrupt('spot_interrupted')).result();
    const asked = activities.inputsOf<{ toConfirm?: boolean }>('inspectInstance');
    expect(asked.map(({ toConfirm }) => toConfirm)).toEqual([true, true, undefined]);
  });

  test('a notice for a node that already drains for another reason sets the deadline of the drain', async () => {
    activities.stuck = true;
    const terminate = await rig.start('terminateNode', workflowIds.terminate(cluster, claim.uid), {
      cluster,
      claim,
      nodePool: 'default',
      reason: 'drifted',
      deleteClaim: true,
    });
    await rig.until(() => activities.callsOf('drainNode').length > 0);
    activities.instance = { ...knownInstance(claim), deleting: true };

    const handle = await interrupt('spot_interrupted');
    // The drain goes on: what time it leaves is not known yet.
    expect(await handle.result()).toEqual({ outcome: 'handed-over', kinds: ['spot_interrupted'], replacements: [] });
    await rig.until(() => activities.inputsOf<DrainInput>('drainNode').at(-1)?.instanceEndsAt !== undefined);
    activities.stuck = false;

    await expect(terminate.result()).resolves.toMatchObject({ outcome: 'terminated' });
  });

  test('a cancelled recommendation leaves no taint on the node', async () => {
    activities.nodeStates = ['waiting'];
    const handle = await interrupt('rebalance_recommendation');
    await rig.until(() => activities.callsOf('syncNode').length > 0);

    await handle.cancel();

    await expect(handle.result()).rejects.toThrow();
    expect([...activities.tainted]).toEqual([]);
  });

  test('where provision has not run yet, a notice starts it, and the node is replaced and drained', async () => {
    await rig.client.workflow.getHandle(workflowIds.provision(cluster)).terminate('nothing has pended');
    const started: string[] = [];
    activities.onEnsureEntity = async (entity) => {
      started.push(entity);
      await startProvision(rig);
    };

    const handle = await interrupt('spot_interrupted');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'drained', kinds: ['spot_interrupted'] });
    expect(started).toEqual(['provision']);
    expect(activities.callsOf('launchInstance')).toHaveLength(1);
    expect(activities.callsOf('drainNode')).not.toEqual([]);
  });
});
