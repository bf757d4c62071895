import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExpirationView } from '../../activities/expiration/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  abortUpdate,
  approveUpdate,
  clusterChangedSignal,
  explainQuery,
  holdUpdate,
  nodeChangedSignal,
  pauseUpdate,
  phaseQuery,
  rejectUpdate,
  resumeUpdate,
  runningQuery,
  searchAttributes,
} from '../../workflows/messages.js';
import type { Candidate, ClaimRef } from '../../workflows/messages.js';
import { plannedWithout, startDisrupt, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf, refusalOf } from './fixtures.js';
import { cluster, durationOf, lengthen, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

const minute = 60_000;
const hour = 60 * minute;
const ann = { actor: 'ann', reason: 'release' };

describe('expireNode by policy', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;
  let now: number;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-old', uid: `uid-aged-${activities.serial}` };
    now = await rig.now();
    await startProvision(rig);
    await startDisrupt(rig);
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
  });
  afterEach(async () => rig.finish());

  const candidate = (): Candidate => candidateOf(claim, { node: 'node-old' });
  const live = (more: Partial<Extract<ExpirationView, { state: 'live' }>> = {}): ExpirationView => ({
    state: 'live',
    mode: 'ReplaceFirst',
    beginAt: now,
    candidate: candidate(),
    ...more,
  });
  const start = (expiresAt = now): ReturnType<WorkflowRig['start']> =>
    rig.start('expireNode', workflowIds.expire(cluster, claim.uid), {
      cluster,
      claim,
      nodePool: 'default',
      expiresAt,
    });
  const inPhase = (handle: Awaited<ReturnType<typeof start>>, phase: string): Promise<true> =>
    rig.until(async () => (await handle.query(phaseQuery)) === phase);
  const running = async (): Promise<number> =>
    (await rig.client.workflow.getHandle(workflowIds.disrupt(cluster)).query(runningQuery)).length;
  const acts = (): string[] =>
    activities.callsOf().filter((name) => /taint|planNodes|launchInstance|beginTermination/.test(name));

  test('waits for its turn, replaces, and only then drains', async () => {
    activities.expiration = [live()];
    const handle = await start(now + hour);

    await expect(handle.result()).resolves.toEqual({ outcome: 'replaced', replacements: ['default-1-0-0'] });

    expect(acts().slice(0, 4)).toEqual(['taintCandidates', 'planNodes', 'launchInstance', 'beginTermination']);
    await rig.until(async () => (await running()) === 0);
  });

  test('a replacement is requested again where provision was terminated before planning it', async () => {
    activities.expiration = [live()];
    const planned = activities.plans;
    activities.plans = Array.from({ length: 500 }, () => ({ state: 'notReady', reason: 'the cache is behind' }));
    const handle = await start();
    await rig.until(() => activities.callsOf('planNodes').length > 0);
    const provision = rig.client.workflow.getHandle(workflowIds.provision(cluster));
    await provision.terminate('by hand');
    activities.plans = planned;
    await startProvision(rig);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(await durationOf(handle)).toBeLessThan(10 * minute);
  });

  // Rules `commands/given-back`, `candidates/left-over-taints`.
  test("terminated while its replacement starts: once the node's taint is removed, plans count the node again", async () => {
    activities.expiration = [live()];
    activities.nodeStates = ['waiting'];
    activities.view = { state: 'live', registered: true, initialized: false };
    const handle = await start();
    await rig.until(() => activities.callsOf('launchInstance').length > 0);
    await handle.terminate('by hand');
    expect(await plannedWithout(rig, activities)).toEqual(['node-old']);

    activities.released = ['node-old'];
    await rig.sleep('2 minutes');
    await rig.client.workflow.getHandle(workflowIds.disrupt(cluster)).signal(clusterChangedSignal);
    await rig.until(async () => (await plannedWithout(rig, activities)).length === 0);
  });

  test('waits for its turn, and replaces the node when budgets allow it', async () => {
    activities.expiration = [live()];
    activities.admits = () => false;
    const handle = await start();
    await inPhase(handle, 'waiting for its turn');
    expect(acts()).not.toContain('planNodes');
    activities.admits = () => true;
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  test('past the hard deadline the node is terminated without its turn and without a replacement', async () => {
    activities.expiration = [live({ mustGoAt: now + 2 * hour })];
    activities.admits = () => false;
    const handle = await start();

    await expect(handle.result()).resolves.toEqual({ outcome: 'forced', replacements: [] });

    const took = await durationOf(handle);
    expect(took).toBeGreaterThanOrEqual(2 * hour - minute);
    expect(took).toBeLessThan(2 * hour + minute);
  });

  test('past the hard deadline only a pause keeps the node', async () => {
    activities.expiration = [live({ mustGoAt: now + hour })];
    activities.admits = () => false;
    activities.pauses = [{ scope: { kind: 'cluster' }, ...ann }];
    const handle = await start();
    await rig.sleep('5 hours');
    await inPhase(handle, 'waiting');
    expect([...activities.tainted]).toEqual([]);
    expect(acts()).not.toContain('planNodes');

    activities.pauses = [];

    await expect(handle.result()).resolves.toEqual({ outcome: 'forced', replacements: [] });
  });

  // Rule `budgets/urgent-first`.
  test.each(['held', 'left alone'])(
    '%s, it does not wait for its turn, so that less urgent requests do not wait for it',
    async (how) => {
      activities.expiration = [live()];
      activities.admits = () => false;
      const handle = await start();
      await inPhase(handle, 'waiting for its turn');
      expect(acts()).not.toContain('untaintCandidates');

      if (how === 'held') await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] });
      else {
        activities.expiration = [live({ leftAlone: 'Recommend' })];
        await handle.signal(nodeChangedSignal);
      }

      await inPhase(handle, how === 'held' ? 'held' : 'waiting');
      expect(acts()).toContain('untaintCandidates');
      await handle.executeUpdate(abortUpdate, { args: [ann] });
      await handle.result();
    },
  );

  test('a long wait for its turn continues as new, so that the history stays short', async () => {
    activities.expiration = [live()];
    activities.admits = () => false;
    const handle = await start();
    await inPhase(handle, 'waiting for its turn');

    await lengthen(rig, handle, nodeChangedSignal, wholeRun);

    activities.admits = () => true;
    await handle.signal(nodeChangedSignal);
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  test('a replacement that fits nowhere leaves no taint, and is tried again', async () => {
    activities.expiration = [live()];
    const nowhere = { ...emptyPlan, unplacedOfDeletingNodes: 1, unschedulable: 1 };
    activities.plans = [nowhere, { ...emptyPlan, claims: [claimPlan(2)] }];
    const handle = await start();
    await rig.until(() => activities.callsOf('untaintCandidates').length > 0);
    expect([...activities.tainted]).toEqual([]);
    await rig.until(async () => (await running()) === 0);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(10 * minute);
  });

  // Rule `budgets/counted-at-the-taint`.
  test('where budgets no longer allow the node when it is about to be tainted, nothing is launched, and it tries again', async () => {
    activities.expiration = [live()];
    activities.overBudget = [['node-old']];
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    const order = acts().slice(0, 3);
    expect(order).toEqual(['taintCandidates', 'taintCandidates', 'planNodes']);
  });

  test('after a failed attempt pods are planned onto the node again (commands/given-back)', async () => {
    activities.expiration = [live()];
    activities.plans = [{ ...emptyPlan, unplacedOfDeletingNodes: 1, unschedulable: 1 }];
    const handle = await start();
    await inPhase(handle, 'waiting');
    expect(activities.inputsOf('planNodes')).toEqual([expect.objectContaining({ without: ['node-old'] })]);

    expect(await plannedWithout(rig, activities)).toEqual([]);

    activities.expiration = [{ state: 'gone' }];
    await handle.signal(nodeChangedSignal);
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'gone' });
  });

  test('Forceful deletes the claim at expireAfter without turn or approval (expiration/forceful)', async () => {
    activities.expiration = [live({ mode: 'Forceful' })];
    activities.admits = () => false;
    const handle = await start();

    await expect(handle.result()).resolves.toEqual({ outcome: 'forced', replacements: [] });

    expect(activities.callsOf('taintCandidates')).toEqual([]);
  });

  test('an expiration ends at once when it is not due by the policy: the operator starts it when it is', async () => {
    activities.expiration = [live({ beginAt: now + hour })];
    const handle = await start(now + hour);

    await expect(handle.result()).resolves.toEqual({ outcome: 'not due', replacements: [] });
    expect(acts()).toEqual([]);
  });

  test('an expiration ends when its claim is gone', async () => {
    activities.expiration = [{ state: 'gone' }];
    const handle = await start(now + hour);

    await expect(handle.result()).resolves.toEqual({ outcome: 'gone', replacements: [] });
    expect(acts()).toEqual([]);
  });

  // Rule `invariants/pauses-hold`.
  test.each([false, true])(
    'a pause by order keeps the node from being tainted, and removes a taint (launching: %s); a resume lets the expiration go on',
    async (isLaunching) => {
      activities.expiration = [live()];
      const disrupt = rig.client.workflow.getHandle(workflowIds.disrupt(cluster));
      const order = { scope: { kind: 'nodePool', name: 'default' }, ...ann } as const;
      let launched = (): void => undefined;
      if (isLaunching) activities.launchGate = new Promise((resolve) => (launched = resolve));
      else await disrupt.executeUpdate(pauseUpdate, { args: [order] });
      const handle = await start();
      if (isLaunching) {
        await inPhase(handle, 'replacing');
        await disrupt.executeUpdate(pauseUpdate, { args: [order] });
        await handle.signal(nodeChangedSignal);
      }
      await inPhase(handle, 'waiting for its turn');
      expect([...activities.tainted]).toEqual([]);
      expect(activities.callsOf('beginTermination')).toEqual([]);
      launched();

      await disrupt.executeUpdate(resumeUpdate, { args: [order] });
      await handle.signal(nodeChangedSignal);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    },
  );

  test('a hold while the replacement starts untaints the node', async () => {
    activities.expiration = [live()];
    let launched = (): void => undefined;
    activities.launchGate = new Promise((resolve) => (launched = resolve));
    const handle = await start();
    await inPhase(handle, 'replacing');
    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] });
    launched();
    await inPhase(handle, 'held');
    await rig.until(() => activities.tainted.size === 0);

    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: false }] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  // Rule `invariants/pauses-hold`.
  test('a pause that the API server has when the claim is to be deleted keeps it, and untaints the node until it is over', async () => {
    activities.expiration = [live()];
    activities.pausedDeletions = ['NodePool default is paused by ann: release'];
    const handle = await start();

    await inPhase(handle, 'waiting');
    expect([...activities.tainted]).toEqual([]);
    expect(await handle.query(explainQuery)).toMatchObject({
      waitingFor: 'NodePool default is paused by ann: release',
    });
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(activities.inputsOf('beginTermination')).toHaveLength(2);
  });

  // Rule `commands/refused-deletions`.
  test('a node whose NodeClaim the API server refuses to delete is untainted, and expires once deletion is allowed', async () => {
    activities.expiration = [live()];
    activities.deletionsRefused.set(claim.name, 'policy says no');
    const handle = await start();

    await rig.until(async () => (await handle.query(explainQuery)).waitingFor === 'policy says no');
    expect([...activities.tainted]).toEqual([]);
    expect(activities.callsOf()).not.toContain('drainNode');
    activities.deletionsRefused.clear();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  test('where the policy says Forceful no pause keeps the node', async () => {
    activities.expiration = [live({ mode: 'Forceful' })];
    activities.pausedDeletions = ['the cluster is paused by ann: release'];

    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'forced' });
  });

  test('aborted or cancelled while the replacement starts, it leaves no taint', async () => {
    for (const how of ['abort', 'cancel'] as const) {
      activities.expiration = [live()];
      activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
      activities.nodeStates = ['waiting'];
      claim = { name: `default-${how}`, uid: `uid-${how}-${activities.serial}` };
      const handle = await start();
      await inPhase(handle, 'replacing');
      await rig.until(() => activities.tainted.size === 1);

      if (how === 'abort') {
        await handle.executeUpdate(abortUpdate, { args: [ann] });
        await expect(handle.result()).resolves.toMatchObject({
          outcome: 'aborted',
          reason: 'aborted by ann (release)',
        });
      } else {
        await handle.cancel();
        await expect(handle.result()).rejects.toThrow();
      }
      expect([...activities.tainted]).toEqual([]);
      await rig.until(async () => (await running()) === 0);
      expect(await plannedWithout(rig, activities)).toEqual([]);
    }
    expect(activities.callsOf('beginTermination')).toEqual([]);
  });

  test('an approved expiration replaces the node; a rejected one keeps it until the hard deadline', async () => {
    const approval = { timeoutMs: 2 * hour, onTimeout: 'Reject' } as const;
    activities.expiration = [live({ approval })];
    const agreed = await start();
    await inPhase(agreed, 'awaiting approval');
    await agreed.executeUpdate(approveUpdate, { args: [ann] });
    await expect(agreed.result()).resolves.toMatchObject({ outcome: 'replaced' });

    now = await rig.now();
    claim = { name: 'default-b', uid: `uid-b-${activities.serial}` };
    activities.expiration = [live({ approval })];
    const rejected = await start();
    await expect(rejected.result()).resolves.toMatchObject({ outcome: 'rejected' });
    // Its claim is annotated, so that the operator does not start the timer again.
    expect(activities.inputsOf('declineExpiration')).toEqual([{ claim, why: 'rejected: nobody answered in time' }]);

    now = await rig.now();
    claim = { name: 'default-c', uid: `uid-c-${activities.serial}` };
    activities.expiration = [live({ approval, mustGoAt: now + 4 * hour })];
    const forced = await start();
    await expect(forced.result()).resolves.toMatchObject({ outcome: 'forced' });
    expect(await durationOf(forced)).toBeGreaterThanOrEqual(4 * hour - minute);
  });

  test('an aborted expiration refuses further orders and names who aborted it (people/one-abort)', async () => {
    activities.expiration = [live({ approval: { timeoutMs: 2 * hour, onTimeout: 'Reject' } })];
    let written = (): void => undefined;
    const declining = new Promise<void>((resolve) => (written = resolve));
    activities.declineExpiration = () => declining;
    const handle = await start();
    await inPhase(handle, 'awaiting approval');
    await handle.executeUpdate(abortUpdate, { args: [ann] });
    const bob = { actor: 'bob' };

    for (const order of [abortUpdate, approveUpdate, rejectUpdate]) {
      expect(await refusalOf(handle.executeUpdate(order, { args: [bob] }))).toBe('AbortedAlready');
    }

    written();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'aborted', reason: 'aborted by ann (release)' });
  });

  describe('an approval that the policy no longer requires (people/questions-end-with-their-cause)', () => {
    const approval = { timeoutMs: 24 * hour, onTimeout: 'Reject' } as const;
    const asked = async (): Promise<Awaited<ReturnType<typeof start>>> => {
      activities.expiration = [live({ approval })];
      const handle = await start();
      await inPhase(handle, 'awaiting approval');
      activities.expiration = [live()];
      return handle;
    };

    test('ends at the next look at the policy, and the node is replaced', async () => {
      const handle = await asked();

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });

      expect(await durationOf(handle)).toBeLessThan(hour);
      expect(activities.callsOf()).not.toContain('declineExpiration');
      const { typedSearchAttributes } = await handle.describe();
      expect(typedSearchAttributes.get(searchAttributes.awaitingApproval)).toBe(false);
    });

    test('ends at once when the change is signalled', async () => {
      const handle = await asked();
      await handle.signal(nodeChangedSignal);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });

      expect(await durationOf(handle)).toBeLessThan(5 * minute);
    });
  });

  test('a question that is checked every hour still ends at its timeout', async () => {
    activities.expiration = [live({ approval: { timeoutMs: 2 * hour, onTimeout: 'Reject' } })];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'rejected' });

    const took = await durationOf(handle);
    expect(took).toBeGreaterThanOrEqual(2 * hour);
    expect(took).toBeLessThan(2 * hour + 10 * minute);
    expect(activities.callsOf('viewExpiration').length).toBeGreaterThan(5);
  });

  describe('expiration of a node of a static pool', () => {
    const successor = { replacements: [claimPlan(0)], typeLists: [['m5.large']] };

    // Rule `expiration/static-successor`.
    test('launches one more claim of the pool, regardless of pods, and drains the node when that is initialized', async () => {
      activities.expiration = [live({ successor })];
      activities.nodeStates = ['waiting', 'registered', 'initialized'];
      const handle = await start();

      const result = await handle.result();

      expect(result.outcome).toBe('replaced');
      expect(result.replacements).toHaveLength(1);
      expect(activities.callsOf()).not.toContain('planNodes');
      const [created] = activities.inputsOf<{ planId: string }>('createClaims');
      expect(created?.planId.startsWith(`${workflowIds.expire(cluster, claim.uid)}/`)).toBe(true);
      const order = activities.callsOf().filter((name) => /taintC|createClaims|launchInst|beginTerm/.test(name));
      expect(order).toEqual(['taintCandidates', 'createClaims', 'launchInstance', 'beginTermination']);
    });

    test('tries a failed launch of the successor again, and leaves no taint meanwhile', async () => {
      activities.expiration = [live({ successor })];
      activities.refusal = { reason: 'insufficient_capacity', message: 'none left' };
      const handle = await start();
      await inPhase(handle, 'waiting');
      expect([...activities.tainted]).toEqual([]);
      expect(activities.callsOf()).not.toContain('beginTermination');
      activities.expiration = [{ state: 'gone' }];
      await handle.signal(nodeChangedSignal);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'gone' });
    });

    test('launches another successor where the first is being deleted after a hold', async () => {
      activities.expiration = [live({ successor })];
      activities.nodeStates = ['waiting'];
      const handle = await start();
      await inPhase(handle, 'replacing');
      await rig.until(() => Promise.resolve(activities.callsOf().includes('launchInstance')));
      await handle.executeUpdate(holdUpdate, { args: [{ on: true, ...ann }] });
      await inPhase(handle, 'held');
      activities.nodeStates = ['registered', 'initialized'];
      const [uid] = activities.inputsOf<{ claim: ClaimRef }>('launchInstance').map((input) => input.claim.uid);
      const launch = rig.client.workflow.getHandle(workflowIds.launch(cluster, uid ?? ''));
      await launch.signal(nodeChangedSignal);
      await expect(launch.result()).resolves.toMatchObject({ outcome: 'initialized' });
      activities.claimRefusals = ['it is being deleted'];

      await handle.executeUpdate(holdUpdate, { args: [{ on: false, ...ann }] });

      await inPhase(handle, 'waiting');
      expect([...activities.tainted]).toEqual([]);
      expect(activities.callsOf()).not.toContain('beginTermination');
      // The next attempt finds none that is on its way out.
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
      expect(activities.callsOf().filter((name) => name === 'createClaims')).toHaveLength(3);
    });

    test('terminates the node first, in its turn, where limits.nodes leaves no room for a successor', async () => {
      activities.expiration = [live({ noRoom: 'limits.nodes of 1 leaves no room beside it' })];
      activities.admits = () => false;
      const handle = await start();
      await inPhase(handle, 'waiting for its turn');
      expect(acts()).not.toContain('beginTermination');
      activities.admits = () => true;
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'forced' });
      expect(activities.callsOf()).not.toContain('createClaims');
    });
  });

  test('a policy that only recommends keeps the node until the policy changes', async () => {
    const leftAlone = 'DisruptionPolicy p has mode Recommend';
    activities.expiration = [live({ leftAlone }), live({ leftAlone }), live({ leftAlone }), live()];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });

    expect(await durationOf(handle)).toBeGreaterThanOrEqual(hour);
  });
});
