import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { RolloutRules } from '../../activities/rollout-contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  approveUpdate,
  clusterChangedSignal,
  pausesQuery,
  pauseSignal,
  phaseQuery,
  resumeSignal,
  runningQuery,
} from '../../workflows/messages.js';
import type { Candidate, ClaimRef, Decision } from '../../workflows/messages.js';
import { startDisrupt, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf } from './fixtures.js';
import { cluster, WorkflowRig } from './rig.js';

const hour = 3_600_000;
const ann = { actor: 'ann', reason: 'release day' };
const everything = { kind: 'cluster' } as const;
const approval = { timeoutMs: 48 * hour, onTimeout: 'Reject' } as const;
const rules: RolloutRules = {
  canary: '1',
  soakMs: 600_000,
  growthFactor: 2,
  maximumWave: '50%',
  maximumFailurePercent: 20,
  onFailure: 'Stop',
};

/**
 * A disruption that is paused on its way, taken over by another worker, resumed, approved where it must be (an hour later),
 * and finished: once for each phase that it goes through. Workers cache nothing here: each of the steps between
 * is taken by one that knows the history alone.
 */
describe('paused and taken over in each phase', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let disrupt: WorkflowHandle;

  beforeAll(async () => {
    rig = await WorkflowRig.start(activityNames, { forgetful: true });
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    activities.view = { state: 'live', registered: true, initialized: false };
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
    await startProvision(rig);
  });
  afterEach(async () => rig.finish());

  const candidate = (name: string): Candidate =>
    candidateOf({ name, uid: `uid-${name}-${activities.serial}` }, { capacityType: 'on-demand' });
  const disrupting = async (): Promise<void> => {
    disrupt = await startDisrupt(rig);
  };
  const inPhase = (handle: WorkflowHandle, phase: string): Promise<true> =>
    rig.until(async () => (await handle.query(phaseQuery).catch(() => '')) === phase || undefined);
  const pauses = async (count: number): Promise<true> =>
    rig.until(async () => (await disrupt.query(pausesQuery)).length === count || undefined);

  /** Nothing is tainted or drained meanwhile, though another worker takes over; `phase` is what it says of itself. */
  async function pausedAWhile(handle: WorkflowHandle, phase = 'paused'): Promise<void> {
    await disrupt.signal(pauseSignal, { scope: everything, ...ann });
    await pauses(1);
    await rig.until(() => activities.tainted.size === 0 || undefined);
    const before = activities.callsOf('taintCandidates').length;
    await rig.replaceWorkers();
    // What comes up is polled each minute: an hour where nothing does.
    await rig.env.sleep(phase === 'awaiting approval' ? '1 hour' : '5 minutes');
    await inPhase(handle, phase);
    expect([...activities.tainted]).toEqual([]);
    expect(activities.callsOf('taintCandidates')).toHaveLength(before);
    expect(activities.callsOf('beginTermination')).toEqual([]);
    await disrupt.signal(resumeSignal, { scope: everything, ...ann });
    await pauses(0);
  }
  const comesUp = (): void => {
    activities.nodeStates = ['initialized'];
    activities.view = { state: 'live', registered: true, initialized: true };
  };
  const drained = (): string[] =>
    activities.inputsOf<{ claim: ClaimRef }>('beginTermination').map(({ claim }) => claim.name);
  const nothingRuns = (): Promise<true> =>
    rig.until(async () => (await disrupt.query(runningQuery)).length === 0 || undefined);

  /** A drain that another worker goes on with. */
  async function takenOverDraining(): Promise<void> {
    await rig.until(() => activities.callsOf('drainNode').length > 0 || undefined);
    await rig.replaceWorkers({ settled: false });
    activities.stuck = false;
  }

  describe.each(['validating', 'awaiting approval', 'launching', 'draining'])('consolidate, %s', (phase) => {
    test('is resumed, approved and finished', async () => {
      const candidates = [candidate('a'), candidate('b')];
      const decision: Decision = {
        method: 'multi',
        decision: 'replace',
        replacements: [claimPlan(3)],
        typeLists: [['m5.large']],
        moves: [],
        podCount: 3,
        priceBefore: 0.2,
        priceAfter: 0.12,
        alternatives: [],
        alongside: [],
        targets: [],
        policy: 'careful',
        approval,
      };
      activities.found = [{ commands: [{ reason: 'Underutilized', candidates, decision }] }];
      activities.nodeStates = ['registered'];
      activities.stuck = phase === 'draining';
      await disrupting();
      const id = workflowIds.consolidate(
        cluster,
        candidates.map(({ claim }) => claim.uid),
      );
      const handle = rig.client.workflow.getHandle(id);
      await rig.env.sleep('5 seconds');
      await inPhase(handle, 'validating');

      if (phase === 'validating') await pausedAWhile(handle);
      await rig.env.sleep('20 seconds');
      await inPhase(handle, 'awaiting approval');
      if (phase === 'awaiting approval') await pausedAWhile(handle, phase);
      await handle.executeUpdate(approveUpdate, { args: [ann] });
      await rig.until(() => activities.callsOf('syncNode').length > 0 || undefined);
      await inPhase(handle, 'launching');
      if (phase === 'launching') await pausedAWhile(handle);
      comesUp();
      if (phase === 'draining') {
        await rig.env.sleep('2 minutes');
        await takenOverDraining();
      }

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'] });
      expect(drained().sort()).toEqual(['a', 'b']);
      expect(activities.callsOf('createClaims')).toHaveLength(1);
      expect(activities.callsOf('launchInstance')).toHaveLength(1);
      await nothingRuns();
    });
  });

  describe.each(['awaiting approval', 'replacing', 'soaking', 'draining'])('replaceDrifted, %s', (phase) => {
    test('is resumed, approved and finished', async () => {
      const nodes = [candidate('x'), candidate('y')];
      activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
      activities.nodeStates = ['registered'];
      activities.rollout = () => ({
        state: 'live',
        rules,
        total: 4,
        drifted: nodes.filter(({ claim }) => !drained().includes(claim.name)),
        blocked: 0,
        unwell: [],
        approval,
      });
      activities.stuck = phase === 'draining';
      await disrupting();
      const hash = `hash-${activities.serial}`;
      const input = { cluster, nodePool: 'default', poolUid: 'pool', hash };
      const handle = await rig.start('replaceDrifted', workflowIds.drift(cluster, 'pool', hash), input);
      await inPhase(handle, 'awaiting approval');
      if (phase === 'awaiting approval') await pausedAWhile(handle, phase);
      await handle.executeUpdate(approveUpdate, { args: [ann] });
      await rig.env.sleep('5 seconds');
      const child = rig.client.workflow.getHandle(workflowIds.replace(cluster, nodes[0]!.claim.uid));
      await inPhase(child, 'replacing');
      await rig.until(() => activities.callsOf('syncNode').length > 0 || undefined);
      if (phase === 'replacing') {
        await pausedAWhile(child);
        await rig.until(() => activities.tainted.size === 1 || undefined);
      }
      comesUp();
      if (phase === 'draining') {
        await rig.env.sleep('2 minutes');
        await takenOverDraining();
      }
      if (phase === 'soaking') {
        await rig.env.sleep('2 minutes');
        await inPhase(handle, 'soaking');
        await rig.replaceWorkers();
      }

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 2, failed: 0 });
      expect(drained()).toEqual(['x', 'y']);
      expect(activities.callsOf('launchInstance')).toHaveLength(1);
      await nothingRuns();
    });
  });

  describe.each(['waiting', 'awaiting approval', 'waiting for leave', 'replacing', 'draining'])(
    'rotateExpired, %s',
    (phase) => {
      test('is resumed, approved and finished', async () => {
        const own = candidate('old');
        const beginAt = (await rig.now()) + hour / 6;
        activities.expiry = [{ state: 'live', mode: 'ReplaceFirst', beginAt, candidate: own, approval }];
        activities.nodeStates = ['registered'];
        activities.admits = () => phase !== 'waiting for leave';
        activities.stuck = phase === 'draining';
        await disrupting();
        const handle = await rig.start('rotateExpired', workflowIds.expire(cluster, own.claim.uid), {
          cluster,
          claim: own.claim,
          nodePool: 'default',
          expiresAt: beginAt + hour,
          byPolicy: true,
        });
        await inPhase(handle, 'waiting');
        if (phase === 'waiting') await pausedAWhile(handle, phase);
        await rig.env.sleep('10 minutes');
        await inPhase(handle, 'awaiting approval');
        if (phase === 'awaiting approval') await pausedAWhile(handle, phase);
        await handle.executeUpdate(approveUpdate, { args: [ann] });
        if (phase === 'waiting for leave') {
          await inPhase(handle, phase);
          await pausedAWhile(handle, phase);
          activities.admits = () => true;
          await disrupt.signal(clusterChangedSignal);
        }
        await rig.env.sleep('10 seconds');
        await inPhase(handle, 'replacing');
        await rig.until(() => activities.callsOf('syncNode').length > 0 || undefined);
        if (phase === 'replacing') await pausedAWhile(handle);
        comesUp();
        if (phase === 'draining') {
          await rig.env.sleep('2 minutes');
          await takenOverDraining();
        }

        await expect(handle.result()).resolves.toMatchObject({ outcome: 'rotated' });
        expect(drained()).toEqual(['old']);
        expect(activities.callsOf('launchInstance')).toHaveLength(1);
        await nothingRuns();
      });
    },
  );
});
