import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RolloutRules, RolloutView } from '../../activities/drift/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  abortUpdate,
  approveUpdate,
  clusterChangedSignal,
  expediteSignal,
  phaseQuery,
  explainQuery,
  rejectUpdate,
  rollbackSignal,
  rollbackUpdate,
  rolloutChangedSignal,
} from '../../workflows/messages.js';
import type { Candidate, ClaimRef } from '../../workflows/messages.js';
import { startDisrupt, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf } from './fixtures.js';
import { cluster, durationOf, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const minute = 60_000;
const hour = 60 * minute;
const ann = { actor: 'ann', reason: 'release' };
const rules: RolloutRules = {
  canary: '1',
  soakMs: 10 * minute,
  growthFactor: 2,
  maximumWave: '50%',
  maximumFailurePercent: 20,
  onFailure: 'Stop',
};

describe('replaceDrifted: rollout of a drifted NodePool', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  /** What is drifted; a node that was terminated has gone. */
  let nodes: Candidate[];
  let more: Partial<Extract<RolloutView, { state: 'live' }>>;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    activities.view = { state: 'live', registered: true, initialized: true };
    activities.plans = Array.from({ length: 50 }, () => emptyPlan);
    more = {};
    nodes = Array.from({ length: 4 }, (_, i) => candidate(i));
    activities.rollout = () => ({
      state: 'live',
      rules,
      total: 8,
      drifted: nodes.filter(({ claim }) => !terminated().includes(claim.uid)),
      blocked: 0,
      unwell: [],
      ...more,
    });
    await startProvision(rig);
    await startDisrupt(rig);
  });
  afterEach(async () => rig.finish());

  const candidate = (i: number): Candidate =>
    candidateOf({ name: `claim-${i}`, uid: `uid-drift-${activities.serial}-${i}` }, { node: `node-${i}` });
  const terminated = (): string[] =>
    activities.inputsOf<{ claim: ClaimRef }>('beginTermination').map(({ claim }) => claim.uid);
  const start = (): ReturnType<WorkflowRig['start']> =>
    rig.start('replaceDrifted', workflowIds.drift(cluster, 'pool', `hash-${activities.serial}`), {
      cluster,
      nodePool: 'default',
      poolUid: 'pool',
      hash: `hash-${activities.serial}`,
    });
  const inPhase = (handle: Awaited<ReturnType<typeof start>>, phase: string): Promise<true> =>
    rig.until(async () => (await handle.query(phaseQuery)) === phase);
  // Rule `drift/rollouts`.
  test('replaces a canary, then growing waves with soaks between, and records the last good template', async () => {
    const handle = await start();

    await expect(handle.result()).resolves.toEqual({ outcome: 'done', waves: 3, replaced: 4, failed: 0 });

    expect(terminated()).toHaveLength(4);
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(30 * minute);
    expect(activities.callsOf('markGood')).toHaveLength(1);
    expect([...activities.tainted].sort()).toEqual(nodes.map(({ claim }) => claim.uid).sort());
  });

  test('a canary that is unhealthy after its soak stops the rollout, and a person can let it go on', async () => {
    let looks = 0;
    more = { rules: { ...rules, soakMs: 0 } };
    const view = activities.rollout;
    activities.rollout = (launched) => ({ ...view(launched), unwell: ++looks === 2 ? ['new-1'] : [] }) as RolloutView;
    const handle = await start();
    await inPhase(handle, 'awaiting approval');
    expect(terminated()).toHaveLength(1);

    await handle.executeUpdate(approveUpdate, { args: [ann] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 3, failed: 1 });
  });

  test('a stopped rollout that a person ends is not begun again', async () => {
    more = { unwell: ['new-1'], rules: { ...rules, soakMs: 0 } };
    const handle = await start();
    await inPhase(handle, 'awaiting approval');

    await handle.executeUpdate(rejectUpdate, { args: [ann] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'stopped', failed: 1 });
    expect(activities.callsOf('noteStopped')).toHaveLength(1);
  });

  test('rolls back where the policy says so and a good template is known', async () => {
    more = { unwell: ['new-1'], rules: { ...rules, onFailure: 'Rollback' } };
    activities.rolledBack = { outcome: 'rolledBack', why: 'as it was' };

    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({
      outcome: 'rolledBack',
      reason: '1 of 1 nodes failed, more than 20%',
    });
    expect(activities.callsOf('noteStopped')).toEqual([]);
  });

  describe('a rollback ordered by a person', () => {
    beforeEach(() => {
      activities.rolledBack = { outcome: 'rolledBack', why: 'as it was' };
    });
    const rolledBack = { outcome: 'rolledBack', reason: 'asked for by ann (release)' };

    test('during a soak ends the rollout: no further node is replaced', async () => {
      const handle = await start();
      await inPhase(handle, 'soaking');

      await handle.executeUpdate(rollbackUpdate, { args: [ann] });

      await expect(handle.result()).resolves.toMatchObject({ ...rolledBack, replaced: 1 });
      expect(terminated()).toHaveLength(1);
      expect(activities.callsOf('noteStopped')).toEqual([]);
    });

    test('ends the rollout as rolled back although the changed pool is noticed before the order is answered', async () => {
      const handle = await start();
      await inPhase(handle, 'soaking');
      activities.rollBack = async () => {
        activities.rollout = () => ({ state: 'superseded', by: 'the nodes are to become what they were' });
        await handle.signal(rolloutChangedSignal);
        return activities.rolledBack;
      };

      await handle.executeUpdate(rollbackUpdate, { args: [ann] });

      await expect(handle.result()).resolves.toMatchObject(rolledBack);
    });

    test('is taken once the rollout has stopped for its failures, as a signal too', async () => {
      more = { unwell: ['new-1'], rules: { ...rules, soakMs: 0 } };
      const handle = await start();
      await inPhase(handle, 'awaiting approval');

      await handle.signal(rollbackSignal, { reason: 'without an actor' } as never);
      await rig.until(async () => {
        const { facts } = await handle.query(explainQuery);
        return String(facts['last order refused']).startsWith('rollback: actor is missing');
      });
      await handle.signal(rollbackSignal, ann);

      await expect(handle.result()).resolves.toMatchObject({ ...rolledBack, failed: 1 });
    });

    test('abandons replacements in progress, and no taint stays', async () => {
      activities.nodeStates = ['waiting'];
      activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
      const handle = await start();
      await rig.until(() => activities.tainted.size > 0);

      await handle.executeUpdate(rollbackUpdate, { args: [ann] });

      await expect(handle.result()).resolves.toMatchObject({ ...rolledBack, replaced: 0 });
      await rig.until(() => activities.tainted.size === 0);
      expect(terminated()).toEqual([]);
    });

    test('is refused where no good template is known, and the rollout goes on', async () => {
      activities.rolledBack = { outcome: 'nothing', why: 'no template of it is known to be good' };
      const handle = await start();
      await inPhase(handle, 'soaking');

      await expect(handle.executeUpdate(rollbackUpdate, { args: [ann] })).rejects.toMatchObject({
        cause: { type: 'NothingToRollBack', message: 'no template of it is known to be good' },
      });

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 4 });
    });
  });

  test.each([
    ['asks for approval', { approval: { timeoutMs: 24 * hour, onTimeout: 'Approve' as const } }],
    ['has stopped', { unwell: ['new-1'], rules: { ...rules, soakMs: 0 } }],
  ])('a newer change supersedes the rollout while it %s', async (_name, what) => {
    more = what;
    const handle = await start();
    await inPhase(handle, 'awaiting approval');

    // Something else of the pool was changed: the question remains.
    await handle.signal(rolloutChangedSignal);
    await inPhase(handle, 'awaiting approval');
    activities.rollout = () => ({ state: 'superseded', by: 'the nodes are to become x' });
    await handle.signal(rolloutChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'superseded' });
    expect(await durationOf(handle)).toBeLessThan(hour);
    expect(activities.callsOf('noteStopped')).toEqual([]);
  });

  test('replacements that fit nowhere count as failed, leave no taint, and back off', async () => {
    more = { rules: { ...rules, maximumFailurePercent: 100 } };
    activities.plans = [
      { ...emptyPlan, unplacedOfDeletingNodes: 1 },
      { ...emptyPlan, unplacedOfDeletingNodes: 1 },
      emptyPlan,
      emptyPlan,
      emptyPlan,
      emptyPlan,
      emptyPlan,
    ];
    const handle = await start();

    const result = await handle.result();

    expect(result).toMatchObject({ outcome: 'done', replaced: 4 });
    expect(result.failed).toBeGreaterThan(0);
    expect(activities.callsOf('untaintCandidates').length).toBe(result.failed);
  });

  // Rule `budgets/counted-at-the-taint`.
  test('nodes that budgets no longer allow when they are about to be tainted count as no failures, and go with a later wave', async () => {
    activities.overBudget = [['node-0'], ['node-1']];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 4, failed: 0 });
    expect(activities.overBudget).toEqual([]);
  });

  test('a node deleted otherwise while it waits for its turn does not hold up its wave', async () => {
    more = { rules: { ...rules, canary: '2' } };
    const [first, second] = nodes;
    activities.admits = (node) => node !== second!.node;
    const handle = await start();
    await rig.until(() => terminated().includes(first!.claim.uid));
    expect(await handle.query(phaseQuery)).toBe('replacing');

    activities.gone.add(second!.node);
    nodes = nodes.filter((one) => one !== second);
    await rig.client.workflow.getHandle(workflowIds.disrupt(cluster)).signal(clusterChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 3, failed: 0 });
  });

  // Rule `invariants/pauses-hold`.
  test('paused, its nodes wait without a taint, and go on when the pause is over', async () => {
    activities.pauses = [{ scope: { kind: 'nodePool', name: 'default' }, reason: 'release', actor: 'ann' }];
    const handle = await start();
    await rig.until(() => activities.callsOf('taintCandidates').length > 0);
    expect([...activities.tainted]).toEqual([]);
    activities.pauses = [];

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 4 });
  });

  test('a newer change supersedes the rollout, by signal or at its next look', async () => {
    activities.admits = () => false;
    const waiting = await start();
    await rig.until(() => activities.callsOf('taintCandidates').length > 0);
    activities.rollout = () => ({ state: 'superseded', by: 'the nodes are to become x' });

    await waiting.signal(rolloutChangedSignal);

    await expect(waiting.result()).resolves.toMatchObject({ outcome: 'superseded', replaced: 0 });
    expect(terminated()).toEqual([]);
  });

  test('ends as done without drifted nodes, hands back without rollout rules, and looks ever less often while all nodes are blocked', async () => {
    nodes = [];
    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'done', waves: 0 });

    const view = activities.rollout;
    let looks = 0;
    activities.rollout = (launched) =>
      ++looks < 6
        ? ({ ...view(launched), blocked: 2, blockedBy: 'node-1: pod x' } as RolloutView)
        : { state: 'live', total: 8, drifted: [], blocked: 2, unwell: [] };
    const handle = await start();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'handedBack' });
    // Blocked at five looks: 10, 20, 40, 80 and 160 seconds.
    const duration = await durationOf(handle);
    expect(duration).toBeGreaterThanOrEqual(310_000);
    expect(duration).toBeLessThan(10 * minute);
  });

  test('a rollout that a person has to approve asks once, and ends when rejected', async () => {
    more = { approval: { timeoutMs: hour, onTimeout: 'Reject' } };
    const handle = await start();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'rejected', replaced: 0 });
    expect(terminated()).toEqual([]);
  });

  test('a question ends when no policy asks it any more, although no signal says so (people/questions-end-with-their-cause)', async () => {
    more = { approval: { timeoutMs: 24 * hour, onTimeout: 'Reject' } };
    const handle = await start();
    await inPhase(handle, 'awaiting approval');
    const { waitingFor } = await handle.query(explainQuery);
    expect(waitingFor).toContain('4 drifted nodes of NodePool default');
    expect(waitingFor).toContain('PodDisruptionBudgets and do-not-disrupt hold');

    more = {};

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 4 });
    expect(await durationOf(handle)).toBeLessThan(3 * hour);
  });

  test('a rollout stopped for its failures hands back once no policy asks for waves', async () => {
    activities.plans = [{ ...emptyPlan, unplacedOfDeletingNodes: 1 }];
    const handle = await start();
    await inPhase(handle, 'awaiting approval');
    expect((await handle.query(explainQuery)).waitingFor).toContain('1 of 1 nodes failed');

    activities.rollout = () => ({ state: 'live', total: 8, drifted: nodes, blocked: 0, unwell: [] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'handedBack', failed: 1 });
    expect(await durationOf(handle)).toBeLessThan(3 * hour);
  });

  test('an expedite ends a soak early; an abort ends the rollout after the nodes in progress', async () => {
    more = { rules: { ...rules, soakMs: 5 * hour } };
    const handle = await start();
    await inPhase(handle, 'soaking');
    await handle.signal(expediteSignal, { deadline: 0, ...ann });
    await rig.until(() => terminated().length > 1);
    await inPhase(handle, 'soaking');

    await handle.executeUpdate(abortUpdate, { args: [ann] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'aborted', replaced: 3 });
  });

  test('cancelled while a node is replaced, the rollout leaves no taint', async () => {
    let open = (): void => undefined;
    activities.launchGate = new Promise((resolve) => (open = resolve));
    activities.plans = [{ ...emptyPlan, unplacedOfDeletingNodes: 1 }];
    more = { rules: { ...rules, maximumFailurePercent: 100 } };
    const handle = await start();
    await rig.until(() => activities.callsOf('taintCandidates').length > 0);

    await handle.cancel();
    open();

    await expect(handle.result()).rejects.toThrow();
    await rig.until(() => activities.tainted.size === 0);
  });
});
