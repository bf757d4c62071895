import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { workflowIds } from '../../core/ids.js';
import type { ClaimRef, LaunchNodeInput } from '../../workflows/messages.js';
import { explainQuery, nodeChangedSignal, phaseQuery, stopLaunchSignal } from '../../workflows/messages.js';
import { effectsOf } from './effects.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { cluster, durationOf, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

describe('launchNode, from claim to initialized node', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;
  let input: LaunchNodeInput;
  let workflowId: string;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-abc', uid: `uid-${activities.serial}` };
    input = { cluster, claim, nodePool: 'default' };
    workflowId = workflowIds.launch(cluster, claim.uid);
  });
  afterEach(async () => rig.finish());

  test('launches, registers and initializes', async () => {
    activities.nodeStates = ['waiting', 'registered', 'initialized'];

    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toEqual({
      outcome: 'initialized',
      nodeName: `node-${claim.uid}`,
      providerId: `fake:///z/i-${claim.uid}`,
    });
    expect(activities.callsOf()).toEqual([
      'prepareClaim',
      'launchInstance',
      'recordLaunch',
      'syncNode',
      'syncNode',
      'syncNode',
    ]);
  });

  test('launching takes one cloud call for the instance, and one for each change of its Node', async () => {
    const launchInstance = activities.launchInstance.bind(activities);
    activities.launchInstance = async (asked) => ({ ...(await launchInstance(asked)), recorded: true }) as never;
    activities.nodeStates = ['initialized'];

    const handle = await rig.start('launchNode', workflowId, { ...input, isFirst: true });
    await rig.until(async () => (await handle.query(phaseQuery)) === 'registering');
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(activities.callsOf()).toEqual(['launchInstance', 'syncNode']);
    expect(activities.inputsOf<{ isFirst: boolean }>('launchInstance')).toMatchObject([{ isFirst: true }]);
    expect(effectsOf(await handle.fetchHistory()).filter((effect) => effect.includes('syncNode'))).toEqual([
      '["local activity","syncNode"]',
    ]);
  });

  test('a look at the Node that fails within the workflow task becomes an activity of its own, which is retried', async () => {
    const sync = activities.syncNode.bind(activities);
    let looks = 0;
    activities.syncNode = async (looked) => {
      if (++looks < 3) throw new Error('no answer from the Kubernetes API server');
      return sync(looked);
    };
    activities.nodeStates = ['initialized'];

    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    const effects = effectsOf(await handle.fetchHistory()).filter((effect) => effect.includes('syncNode'));
    expect(effects.map((effect) => (JSON.parse(effect) as string[])[0])).toEqual(['local activity', 'activity']);
  });

  // Rule `launch/one-instance`.
  test.each([
    ['a claim that the workflow which started this has just created', true, [true, false]],
    ['any other claim', false, [false, false]],
  ])('%s: an earlier instance is looked for only where one may exist', async (_, isFirst, expected) => {
    activities.launchResults = [{ state: 'failed', message: 'no', tookMs: 1 }];

    await (await rig.start('launchNode', workflowId, { ...input, isFirst })).result();

    const asked = activities.inputsOf<{ isFirst: boolean }>('launchInstance').map(({ isFirst }) => isFirst);
    expect(asked).toEqual(expected);
  });

  test('a claim with an instance is not launched again', async () => {
    activities.view = { state: 'live', providerId: 'fake:///z/i-old', registered: true, initialized: false };

    const handle = await rig.start('launchNode', workflowId, input);
    await handle.result();

    expect(activities.callsOf()).not.toContain('launchInstance');
  });

  test.each(['insufficient_capacity', 'nodeclass_not_ready'] as const)(
    'a launch refused with %s deletes the claim',
    async (reason) => {
      activities.refusal = { reason, message: 'no such luck' };

      const handle = await rig.start('launchNode', workflowId, input);

      await expect(handle.result()).resolves.toEqual({ outcome: 'deleted', reason, message: 'no such luck' });
      expect(activities.failed).toEqual([{ claim, reason, message: 'no such luck' }]);
    },
  );

  // Rules `launch/other-failures`, `launch/timeouts`.
  test("a launch that fails for five minutes deletes the claim with the cloud's message", async () => {
    activities.launchError = new Error('cloud is on fire');
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'deleted', reason: 'launch_timeout' });
    expect(activities.failed[0]?.message).toContain('cloud is on fire');
    const minutes = (await durationOf(handle)) / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(4);
    expect(minutes).toBeLessThan(6);
  });

  // Rule `launch/refused-writes`.
  describe('writes that the API server refuses during a launch', () => {
    const refused = { state: 'refused', message: 'policy says no' } as const;
    const forEver = Array.from({ length: 100 }, () => refused);
    const failed = { reason: 'launch_timeout', message: 'policy says no' } as const;

    test.each(['writesRefused', 'recordsRefused'] as const)(
      'for five minutes (%s) delete the claim, and its NodePool backs off',
      async (which) => {
        activities[which] = [...forEver];
        const handle = await rig.start('launchNode', workflowId, input);

        await expect(handle.result()).resolves.toEqual({ outcome: 'deleted', ...failed });
        expect(activities.failed).toEqual([{ claim, ...failed, refused: true }]);
        const minutes = (await durationOf(handle)) / 60_000;
        expect(minutes).toBeGreaterThanOrEqual(4);
        expect(minutes).toBeLessThan(6);
      },
    );

    test('for less than that are shown by explain, and the launch goes on', async () => {
      activities.writesRefused = forEver.slice(0, 6);
      activities.recordsRefused = forEver.slice(0, 6);
      const handle = await rig.start('launchNode', workflowId, input);
      await rig.until(async () => (await handle.query(explainQuery)).failing?.why === 'policy says no');

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
      expect((await handle.query(explainQuery)).failing).toBeUndefined();
      expect(activities.callsOf('launchInstance')).toHaveLength(1);
    });

    test('no longer matter when the claim is deleted meanwhile', async () => {
      activities.writesRefused = [...forEver];
      const handle = await rig.start('launchNode', workflowId, input);
      await rig.until(() => activities.callsOf('prepareClaim').length > 1);
      await handle.signal(stopLaunchSignal, {});

      await expect(handle.result()).resolves.toEqual({ outcome: 'superseded' });
      expect(activities.failed).toEqual([]);
    });
  });

  test('time in which no worker takes its tasks does not count toward the launch timeout', async () => {
    const launchTimeoutMs = 1500;
    // No time is skipped while a task waits for a worker.
    const handle = await rig.withoutWorker('cloud', async () => {
      const started = await rig.start('launchNode', workflowId, { ...input, launchTimeoutMs });
      await rig.until(() => activities.callsOf('prepareClaim').length === 1);
      const since = await rig.now();
      await rig.until(async () => (await rig.now()) > since + launchTimeoutMs);
      return started;
    });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(activities.failed).toEqual([]);
  });

  test('slow cloud calls count toward the launch timeout with the time that they took', async () => {
    activities.launchResults = Array.from({ length: 3 }, () => ({
      state: 'failed' as const,
      message: 'no answer',
      tookMs: 110_000,
    }));
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ reason: 'launch_timeout', message: 'no answer' });
    expect(activities.callsOf('launchInstance')).toHaveLength(3);
  });

  test("a node that waits for its pool's other nodes is checked again at the given time, and its launch does not fail", async () => {
    const sync = activities.syncNode.bind(activities);
    let looks = 0;
    activities.syncNode = async (looked) => {
      if (++looks > 20) return sync(looked);
      return { state: 'waiting', reason: 'OtherNodes', message: 'others', againMs: 50_000 };
    };
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    // By the poll that is behind signals it would have taken longer.
    expect(await durationOf(handle)).toBeLessThan(20 * 60_000);
    expect(activities.failed).toEqual([]);
  });

  // Rule `launch/timeouts`.
  test('an hour without any answer of the cloud fails no claim', async () => {
    const launch = activities.launchInstance.bind(activities);
    const began = await rig.now();
    activities.launchInstance = async (asked) => {
      if ((await rig.now()) > began + 60 * 60_000) return launch(asked);
      return { state: 'failed', message: 'ec2:CreateFleet: no answer', tookMs: 20_000, isUnavailable: true };
    };
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(60 * 60_000);
    expect(activities.failed).toEqual([]);
  });

  test('an outage of the API server does not count toward the launch timeout', async () => {
    const launch = activities.launchInstance.bind(activities);
    let attempts = 0;
    activities.launchInstance = async (asked) => {
      if (++attempts <= 12) throw ApplicationFailure.create({ type: 'Unavailable', message: 'no answer' });
      return launch(asked);
    };
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(5 * 60_000);
  });

  // Rule `launch/timeouts`.
  test('a node not registered within 15 minutes has its claim deleted', async () => {
    activities.nodeStates = ['waiting'];
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'deleted', reason: 'registration_timeout' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(15 * 60_000);
  });

  // Rule `launch/instance-ended`.
  test('an instance that has ended has its claim deleted at once, with the reason', async () => {
    const message = 'instance i-1 is terminated: Client.InternalError';
    const reason = 'InstanceEnded';
    const over = { state: 'waiting', reason, message, registered: false, instanceEnded: true } as const;
    activities.syncNode = () => Promise.resolve(over);
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toEqual({ outcome: 'deleted', reason: 'instance_ended', message });
    expect(await durationOf(handle)).toBeLessThan(60_000);
  });

  test('an outage of the API server does not count toward the registration timeout', async () => {
    activities.nodeStates = ['waiting', 'waiting', 'waiting', 'registered', 'initialized'];
    const sync = activities.syncNode.bind(activities);
    let attempts = 0;
    activities.syncNode = async (looked) => {
      // Attempts are half a minute apart: some 19 minutes.
      const isAway = attempts++ > 0 && attempts <= 41;
      if (isAway) throw new Error('no answer from the Kubernetes API server');
      return sync(looked);
    };
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(15 * 60_000);
    expect(activities.failed).toEqual([]);
  });

  describe('an API server restored from a backup', () => {
    const waiting = { state: 'waiting', reason: 'NodeNotFound', message: 'Node not registered with cluster' } as const;

    test('in which the claim had no instance: it is launched again, and the cloud answers with the same instance', async () => {
      activities.nodeStates = ['registered', 'initialized'];
      const sync = activities.syncNode.bind(activities);
      let looks = 0;
      activities.syncNode = async (looked) => (++looks === 2 ? { state: 'unlaunched' } : sync(looked));
      const handle = await rig.start('launchNode', workflowId, input);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
      expect(activities.callsOf('launchInstance')).toHaveLength(2);
      expect(activities.callsOf('recordLaunch')).toHaveLength(2);
    });

    test('in which the node was not registered: the registration timeout begins anew, once', async () => {
      activities.nodeStates = ['registered'];
      const sync = activities.syncNode.bind(activities);
      let looks = 0;
      activities.syncNode = async (looked) => (++looks < 2 ? sync(looked) : { ...waiting, registered: false });
      const handle = await rig.start('launchNode', workflowId, input);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'deleted', reason: 'registration_timeout' });
      expect(await durationOf(handle)).toBeGreaterThanOrEqual(15 * 60_000);
    });

    test('a Node created anew has no registration timeout, since its claim is registered', async () => {
      activities.nodeStates = ['registered', 'initialized'];
      const sync = activities.syncNode.bind(activities);
      let looks = 0;
      activities.syncNode = async (looked) =>
        ++looks > 1 && looks < 40 ? { ...waiting, registered: true } : sync(looked);
      const handle = await rig.start('launchNode', workflowId, input);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
      expect(await durationOf(handle)).toBeGreaterThanOrEqual(30 * 60_000);
    });
  });

  test('before a registration timeout the API server itself is asked for the Node, not the cache', async () => {
    const sync = activities.syncNode.bind(activities);
    activities.syncNode = async (looked) => {
      activities.nodeStates = looked.live === true ? ['initialized'] : ['waiting'];
      return sync(looked);
    };
    const handle = await rig.start('launchNode', workflowId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(activities.failed).toEqual([]);
  });

  test('initialization has no timeout, and waits for signals rather than polls', async () => {
    activities.nodeStates = ['registered'];
    const handle = await rig.start('launchNode', workflowId, input);
    await rig.until(async () => (await handle.query(phaseQuery)) === 'initializing');
    await rig.sleep('20 minutes');
    const before = activities.callsOf('syncNode').length;

    activities.nodeStates = ['initialized'];
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(activities.callsOf('syncNode')).toHaveLength(before + 1);
    expect(before).toBeLessThan(30);
  });

  test('deleting the claim while its node registers ends the launch', async () => {
    activities.nodeStates = ['waiting'];
    const handle = await rig.start('launchNode', workflowId, input);
    await rig.until(async () => (await handle.query(phaseQuery)) === 'registering');

    await handle.signal(stopLaunchSignal, {});

    await expect(handle.result()).resolves.toEqual({ outcome: 'superseded', providerId: `fake:///z/i-${claim.uid}` });
    expect(activities.failed).toEqual([]);
  });

  test('deleting the claim between launch attempts ends the attempts', async () => {
    activities.launchError = new Error('throttled');
    const handle = await rig.start('launchNode', workflowId, input);
    await rig.until(() => activities.callsOf('launchInstance').length > 1);

    await handle.signal(stopLaunchSignal, {});

    await expect(handle.result()).resolves.toEqual({ outcome: 'superseded' });
  });

  test('explain says what a launch waits for', async () => {
    activities.nodeStates = ['waiting'];
    const handle = await rig.start('launchNode', workflowId, input);
    await rig.until(async () => (await handle.query(phaseQuery)) === 'registering');

    const explanation = await rig.until(async () => {
      const now = await handle.query(explainQuery);
      return now.waitingFor === undefined ? undefined : now;
    });

    expect(explanation).toMatchObject({
      phase: 'registering',
      waitingFor: 'Node not registered with cluster',
      facts: { NodeClaim: 'default-abc', type: 'm5.large', capacity: 'spot' },
    });
    await handle.signal(stopLaunchSignal, {});
    await handle.result();
  });
});
