import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { DrainInput } from '../../activities/termination/contract.js';
import { workflowIds } from '../../core/ids.js';
import { Starter } from '../../operator/starter.js';
import { expediteSignal, explainQuery, searchAttributes } from '../../workflows/messages.js';
import type { ClaimRef, TerminateNodeInput } from '../../workflows/messages.js';
import { isThere } from './due.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { cluster, durationOf, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

describe('terminateNode: drain, volumes, instance, finalizers', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;
  let input: TerminateNodeInput;
  let workflowId: string;

  // A server for each test: where a drain that runs is stopped, the test server may stop skipping time for good.
  beforeEach(async () => {
    rig = await startRig(activityNames);
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-abc', uid: `uid-${activities.serial}` };
    input = { cluster, claim, nodePool: 'default', reason: 'deleted', deleteClaim: false };
    workflowId = workflowIds.terminate(cluster, claim.uid);
  });
  afterEach(async () => {
    await rig.finish();
    await rig.close();
  });

  // Rule `termination/steps`.
  test('drains, detaches volumes, terminates the instance, and removes the finalizers last, no sooner than after five seconds', async () => {
    const handle = await rig.start('terminateNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
    expect(activities.callsOf()).toEqual([
      'beginTermination',
      'drainNode',
      'awaitVolumesDetached',
      'finishTermination',
    ]);
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(5000);
  });

  test.each([
    ['at the limited rate of the cloud', {}, 'cloud'],
    ['at once where the cloud takes it', { instanceEndsAt: Date.parse('2300-01-01') }, 'urgent'],
  ] as const)('ends the instance %s', async (_, ends, queue) => {
    const handle = await rig.start('terminateNode', workflowId, { ...input, ...ends });
    await handle.result();

    const { events } = await handle.fetchHistory();
    const scheduled = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    const ending = scheduled.find(({ activityType }) => activityType?.name === 'finishTermination');
    expect(ending?.taskQueue?.name).toBe(`${cluster}/${queue}`);
  });

  test('a cancelled drain goes on when the operator asks for it again', async () => {
    activities.drains = [{ state: 'blocked', blockedBy: ['pdb/default/web'], remaining: 1, evicted: 0 }];
    activities.stuck = true;
    const handle = await rig.start('terminateNode', workflowId, input);
    await rig.until(() => activities.callsOf('drainNode').length === 2);
    const { runId: first } = await handle.describe();
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow();
    activities.stuck = false;
    const starter = new Starter(rig.client, cluster);

    const missing = {
      workflowId,
      type: 'terminateNode',
      input,
      summary: 'deleted',
      afterCompletion: 'startAgain',
    } as const;
    expect(await starter.start(missing)).toBe('started');
    const again = rig.client.workflow.getHandle(workflowId);
    await expect(again.result()).resolves.toMatchObject({ outcome: 'terminated' });
    const { runId } = await again.describe();
    rig.track(workflowId, runId);
    expect(runId).not.toBe(first);

    // With keepCompleted a completed run is not started again.
    expect(await starter.start({ ...missing, afterCompletion: 'keepCompleted' })).toBe('known');
  });

  test('ends at once where the claim is gone', async () => {
    activities.start = { state: 'gone' };

    const handle = await rig.start('terminateNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'gone' });
    expect(activities.callsOf()).toEqual(['beginTermination']);
  });

  test('a node whose instance is gone is not drained', async () => {
    activities.start = { state: 'terminating', providerId: 'fake:///z/i-1', nodeName: 'node-1', instanceGone: true };

    const handle = await rig.start('terminateNode', workflowId, input);
    await handle.result();

    expect(activities.callsOf()).not.toContain('drainNode');
    expect(activities.callsOf()).toContain('finishTermination');
  });

  test('a PodDisruptionBudget is shown as the blocker until it allows the eviction, and the instance runs until then', async () => {
    activities.drains = [{ state: 'blocked', blockedBy: ['pdb/default/web'], remaining: 2, evicted: 1 }];
    let release = (): void => undefined;
    activities.drainGate = new Promise((resolve) => (release = resolve));
    const handle = await rig.start('terminateNode', workflowId, input);
    await rig.until(() => activities.callsOf('drainNode').length === 2);

    const attributes = await rig.until(async () => {
      const { typedSearchAttributes } = await handle.describe();
      return typedSearchAttributes.get(searchAttributes.blockedBy) === undefined ? undefined : typedSearchAttributes;
    });
    const explanation = await handle.query(explainQuery);

    expect(attributes.get(searchAttributes.blockedBy)).toBe('pdb/default/web');
    expect(explanation).toMatchObject({ phase: 'draining', waitingFor: 'pdb/default/web', facts: { 'pods left': 2 } });
    expect(activities.inputsOf<DrainInput>('drainNode')[1]?.known).toEqual(['pdb/default/web']);
    expect(activities.callsOf()).not.toContain('finishTermination');
    release();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated', podsEvicted: 1 });
    expect((await handle.describe()).typedSearchAttributes.get(searchAttributes.blockedBy)).toBeUndefined();
  });

  // Rule `termination/long-grace`.
  test('pods with a long grace period are listed with their end, and count as no blockers', async () => {
    const ending = { pods: ['shop/db-0', 'shop/db-1'], podCount: 3, until: Date.parse('2126-01-05T12:00:00Z') };
    activities.drains = [{ state: 'waiting', blockedBy: [], remaining: 3, evicted: 3, ending }];
    let release = (): void => undefined;
    activities.drainGate = new Promise((resolve) => (release = resolve));
    const handle = await rig.start('terminateNode', workflowId, input);
    await rig.until(() => activities.callsOf('drainNode').length === 2);

    expect(await handle.query(explainQuery)).toMatchObject({
      phase: 'draining',
      waitingFor:
        'shop/db-0, shop/db-1 and 1 more to end, for which the grace period allows until 2126-01-05T12:00:00Z',
    });
    release();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
  });

  test('a drain and the wait for volumes after it are shown as separate phases', async () => {
    activities.volumes = Array.from({ length: 20 }, () => ({
      ...{ state: 'waiting' as const, blockedBy: [], remaining: 1, evicted: 0 },
    }));
    const handle = await rig.start('terminateNode', workflowId, input);
    await rig.until(() => activities.callsOf('awaitVolumesDetached').length > 0);

    expect(await handle.query(explainQuery)).toMatchObject({
      phase: 'detaching volumes',
      waitingFor: 'volumes to be detached',
    });
    await handle.result();
  });

  test('a more urgent reason shortens the deadline of a running drain; a less urgent one does not', async () => {
    activities.drainGate = new Promise(() => undefined);
    const handle = await rig.start('terminateNode', workflowId, input);
    await rig.until(() => activities.callsOf('drainNode').length === 1);
    const soon = (await rig.now()) + 60_000;

    await handle.signal(expediteSignal, { deadline: soon, reason: 'spot_interrupted' });
    await handle.signal(expediteSignal, { deadline: soon + 600_000, reason: 'expired' });
    await rig.until(() => activities.callsOf('drainNode').length === 2);
    activities.drainGate = undefined;
    await handle.signal(expediteSignal, { deadline: soon - 1000, reason: 'person' });
    await handle.result();

    expect(activities.inputsOf<{ deadline: number }>('setDeadline').map(({ deadline }) => deadline)).toEqual([
      soon,
      soon - 1000,
    ]);
    expect(activities.inputsOf<DrainInput>('drainNode').map(({ deadline }) => deadline)).toEqual([
      undefined,
      soon,
      soon - 1000,
    ]);
  });

  test('the termination grace period of the claim is the deadline of its drain', async () => {
    activities.start = { ...activities.start, state: 'terminating', deadline: 1_900_000_000_000 };

    const handle = await rig.start('terminateNode', workflowId, input);
    await handle.result();

    expect(activities.inputsOf<DrainInput>('drainNode')[0]?.deadline).toBe(1_900_000_000_000);
    expect(activities.callsOf()).not.toContain('setDeadline');
  });

  test('ends a launch in progress and terminates the instance that it still gets', async () => {
    let launched = (): void => undefined;
    activities.launchGate = new Promise((resolve) => (launched = resolve));
    activities.start = { state: 'terminating' };
    const launch = await rig.start('launchNode', workflowIds.launch(cluster, claim.uid), {
      cluster,
      claim,
      nodePool: 'default',
    });
    await rig.until(() => activities.callsOf('launchInstance').length === 1);

    const handle = await rig.start('terminateNode', workflowId, input);
    // An activity that ends while its cancellation is being asked for is lost by the test server.
    await rig.until(async () => {
      const { events } = await launch.fetchHistory();
      return events?.some((event) => isThere(event.activityTaskCancelRequestedEventAttributes));
    });
    launched();

    await expect(launch.result()).resolves.toMatchObject({
      outcome: 'superseded',
      providerId: `fake:///z/i-${claim.uid}`,
    });
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
    expect(activities.inputsOf<{ providerId: string }>('finishTermination')).toMatchObject([
      { providerId: `fake:///z/i-${claim.uid}` },
    ]);
    expect(activities.callsOf('recordLaunch')).toHaveLength(1);
  });

  // Rule `termination/launch-stops`.
  describe('a claim that has its instance when it is deleted', () => {
    const providerId = 'fake:///z/i-1';
    const startLaunch = async (): Promise<WorkflowHandle> => {
      activities.nodeStates = ['waiting'];
      const launch = await rig.start('launchNode', workflowIds.launch(cluster, claim.uid), {
        ...{ cluster, claim, nodePool: 'default' },
      });
      await rig.until(() => activities.callsOf('syncNode').length === 1);
      return launch;
    };
    const signalsOf = async (handle: WorkflowHandle): Promise<(string | null | undefined)[]> => {
      const { events } = await handle.fetchHistory();
      return (events ?? []).flatMap(({ signalExternalWorkflowExecutionInitiatedEventAttributes: signal }) =>
        isThere(signal) ? [signal.signalName] : [],
      );
    };

    beforeEach(() => {
      activities.start = { state: 'terminating', providerId, mayBeLaunching: true };
    });

    test('and waits for its node: the launch ends at once, and deletes nothing', async () => {
      const launch = await startLaunch();

      const handle = await rig.start('terminateNode', workflowId, input);

      await expect(launch.result()).resolves.toMatchObject({ outcome: 'superseded' });
      expect(await durationOf(launch)).toBeLessThan(10_000);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
      expect(activities.inputsOf('finishTermination')).toEqual([{ claim, providerId, reason: 'deleted' }]);
      expect(activities.failed).toEqual([]);
    });

    test('and whose launch workflow is gone is terminated all the same', async () => {
      const handle = await rig.start('terminateNode', workflowId, input);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
      expect(await signalsOf(handle)).toEqual(['stopLaunch']);
      expect(activities.callsOf()).toEqual(['beginTermination', 'finishTermination']);
    });

    test.each([
      ['is initialized', { nodeName: 'node-1' }],
      ['a worker of an earlier build looked at', {}],
    ])('and %s: no launch is signalled', async (_, more) => {
      activities.start = { state: 'terminating', providerId, ...more };

      const handle = await rig.start('terminateNode', workflowId, input);
      await handle.result();

      expect(await signalsOf(handle)).toEqual([]);
    });

    test('and whose launch fails by itself: the launch ends with its own result', async () => {
      const terminations: WorkflowHandle[] = [];
      activities.failClaim = async (failed) => {
        activities.failed.push(failed);
        // As the operator does when the claim is deleted.
        terminations.push(await rig.start('terminateNode', workflowId, input));
        await rig.until(() => activities.callsOf('finishTermination').length === 1);
      };
      const launch = await startLaunch();

      await expect(launch.result()).resolves.toMatchObject({ outcome: 'deleted', reason: 'registration_timeout' });
      expect(activities.failed).toHaveLength(1);
      await expect(terminations[0]?.result()).resolves.toMatchObject({ outcome: 'terminated' });
    });
  });

  test('a claim that was never launched is removed without an instance', async () => {
    activities.start = { state: 'terminating' };
    activities.view = { state: 'deleting' };

    const handle = await rig.start('terminateNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
    expect(activities.callsOf()).toEqual(['beginTermination', 'viewClaim', 'finishTermination']);
  });
});
