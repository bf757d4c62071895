import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ResolvedRepairStep, RepairView } from '../../activities/repair/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  abortUpdate,
  approveSignal,
  approveUpdate,
  explainQuery,
  holdUpdate,
  nodeChangedSignal,
  pauseUpdate,
  phaseQuery,
  refusals,
  resumeUpdate,
  searchAttributes,
} from '../../workflows/messages.js';
import type { ClaimRef, Explanation } from '../../workflows/messages.js';
import { plannedWithout, startDisrupt, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf, refusalOf } from './fixtures.js';
import { cluster, durationOf, lengthen, onServer, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

const minute = 60_000;
const force: ResolvedRepairStep = { action: 'Force', waitMs: 10 * minute };
const replace: ResolvedRepairStep = { action: 'Replace', waitMs: 10 * minute };
const reboot: ResolvedRepairStep = { action: 'Reboot', waitMs: 10 * minute };

describe('repairNode of an unhealthy node', () => {
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
    claim = { name: 'default-ill', uid: `uid-ill-${activities.serial}` };
    now = await rig.now();
  });
  afterEach(async () => rig.finish());

  const ill = (more: Partial<Extract<RepairView, { state: 'unhealthy' }>> = {}): RepairView => ({
    state: 'unhealthy',
    nodeName: 'node-ill',
    providerId: 'fake:///z/i-1',
    condition: 'Ready=False',
    since: now - 30 * minute,
    dueAt: now,
    steps: [force],
    candidate: candidateOf(claim),
    ...more,
  });
  const start = (): ReturnType<WorkflowRig['start']> =>
    rig.start('repairNode', workflowIds.repair(cluster, claim.uid), {
      cluster,
      claim,
      nodePool: 'default',
    });
  const acts = (): string[] =>
    activities.callsOf().filter((name) => /reboot|taint|begin|drainNode|finishTermination|count/.test(name));

  test('a node that recovers within the toleration is left alone', async () => {
    activities.health = [ill({ since: now, dueAt: now + 30 * minute }), { state: 'healthy' }];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'tolerating');

    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toEqual({ outcome: 'recovered', steps: [] });
    expect(acts()).toEqual([]);
  });

  // Ready False for 30 minutes: repaired, ignoring what protects pods.
  test('after the toleration the node is forced, with now as its termination timestamp', async () => {
    const dueAt = now + 30 * minute;
    activities.health = [ill({ since: now, dueAt }), ill({ since: now, dueAt })];
    const handle = await start();

    await expect(handle.result()).resolves.toEqual({ outcome: 'replaced', steps: ['Force'] });
    const [{ deadline }] = activities.inputsOf<{ deadline: number }>('beginTermination') as [{ deadline: number }];
    expect(deadline).toBeGreaterThanOrEqual(dueAt);
    expect(deadline).toBeLessThan(dueAt + minute);
    expect(acts()).toContain('countRepair');
  });

  test('while too many nodes of the pool are unhealthy it waits, and checks every five minutes', async () => {
    const blocked = '2 of 3 nodes are unhealthy, and at most 1 (20%) may be';
    activities.health = [ill({ blocked }), ill({ blocked }), ill({ blocked }), ill()];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'blocked');
    const explained: Explanation = await handle.query(explainQuery);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(explained.waitingFor).toContain(blocked);
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(15 * minute);
  });

  // Rule `budgets/urgent-first`.
  test('while 500 expirations wait for a closed window, a broken node is repaired at once', async () => {
    const waiting = onServer ? 50 : 500;
    const old = candidateOf({ name: 'old', uid: 'uid-old' }, { node: 'node-old' });
    activities.expiration = [{ state: 'live', mode: 'ReplaceFirst', beginAt: now, candidate: old }];
    activities.admits = (node) => node !== old.node;
    activities.turnCheckAt = now + 600 * minute;
    const expire = (n: number): ReturnType<WorkflowRig['start']> => {
      const expiring = { name: `old-${n}`, uid: `uid-old-${activities.serial}-${n}` };
      const input = { cluster, claim: expiring, nodePool: 'default', expiresAt: now };
      return rig.start('expireNode', workflowIds.expire(cluster, expiring.uid), input);
    };
    await Promise.all(Array.from({ length: waiting }, (_, n) => expire(n)));
    await rig.until(() => activities.callsOf('taintCandidates').length >= waiting);
    activities.health = [ill({ steps: [reboot] }), ill({ steps: [reboot] }), { state: 'healthy' }];

    const handle = await start();
    await rig.until(() => activities.callsOf('rebootInstance').length === 1);
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toEqual({ outcome: 'recovered', steps: ['Reboot'] });
    expect(await durationOf(handle)).toBeLessThan(minute);
    expect(activities.callsOf('beginTermination')).toEqual([]);
  });

  test('a reboot after which the node is healthy ends the repair', async () => {
    activities.health = [ill({ steps: [reboot, force] }), ill(), { state: 'healthy' }];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'rebooting');

    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toEqual({ outcome: 'recovered', steps: ['Reboot'] });
    expect(acts()).toEqual(['taintCandidates', 'rebootInstance', 'untaintCandidates']);
  });

  test('steps are taken in order: reboot, replace first and drain, force', async () => {
    await startProvision(rig);
    activities.health = [ill({ steps: [reboot, replace, force] }), ill()];
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    activities.stuck = true;
    const handle = await start();
    await rig.until(() => activities.callsOf('rebootInstance').length === 1);

    await rig.sleep('11 minutes');
    await rig.until(() => activities.callsOf('drainNode').length > 0);
    await rig.sleep('11 minutes');
    await rig.until(() => activities.callsOf('setDeadline').length === 1);
    activities.stuck = false;

    await expect(handle.result()).resolves.toEqual({ outcome: 'replaced', steps: ['Reboot', 'Replace', 'Force'] });
    const order = activities.callsOf().filter((name) => /reboot|launchInstance|drainNode|setDeadline/.test(name));
    expect([...new Set(order)]).toEqual(['rebootInstance', 'launchInstance', 'drainNode', 'setDeadline']);
    const [begun] = activities.inputsOf<{ deadline?: number }>('beginTermination');
    expect(begun?.deadline).toBeUndefined();
  });

  test('where the cloud cannot reboot the next step is taken at once', async () => {
    activities.reboot = { state: 'unsupported' };
    activities.health = [ill({ steps: [reboot, force] }), ill()];

    const handle = await start();

    await expect(handle.result()).resolves.toEqual({ outcome: 'replaced', steps: ['Reboot', 'Force'] });
    expect(await durationOf(handle)).toBeLessThan(minute);
  });

  test('where no listed step terminates the node it stays, and the result says so', async () => {
    activities.health = [ill({ steps: [reboot] }), ill()];

    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'unhealthy', steps: ['Reboot'] });
  });

  test('where the policy requires approval a person is asked; without an answer onTimeout applies', async () => {
    activities.health = [ill({ approval: { timeoutMs: 60 * minute, onTimeout: 'Reject' } })];
    const handle = await start();

    const result = await handle.result();

    expect(result).toEqual({ outcome: 'rejected', steps: [], reason: 'rejected: nobody answered in time' });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(60 * minute);
    expect(acts()).toEqual([]);
    // (repair/declined)
    const why = 'rejected: nobody answered in time';
    expect(activities.inputsOf('declineRepair')).toEqual([{ claim, condition: 'Ready=False', why }]);
  });

  test('an approved repair goes on', async () => {
    activities.health = [ill({ approval: { timeoutMs: 60 * minute, onTimeout: 'Reject' } })];
    const handle = await start();
    await rig.until(
      async () => (await handle.describe()).typedSearchAttributes.get(searchAttributes.awaitingApproval) === true,
    );

    const { question }: Explanation = await handle.query(explainQuery);
    expect(question?.breaks).toContain('deletes the pods of node-ill'); // (people/yes-that-breaks-protection)
    // Its one step is Force: an order without consent to remove the pods' protection is refused.
    expect(await refusalOf(handle.executeUpdate(approveUpdate, { args: [{ actor: 'ann' }] }))).toBe('BreaksProtection');
    await handle.signal(approveSignal, { actor: 'ann', force: true });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  test('a question about a repair ends when the node recovers', async () => {
    activities.health = [ill({ approval: { timeoutMs: 60 * minute, onTimeout: 'Reject' } })];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');

    activities.health = [{ state: 'healthy' }];
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'recovered', steps: [] });
  });

  test('a question ends when no policy asks it any more, although no signal says so', async () => {
    activities.health = [ill({ approval: { timeoutMs: 24 * 60 * minute, onTimeout: 'Reject' } })];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');

    activities.health = [ill()];

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(await durationOf(handle)).toBeLessThan(60 * minute);
  });

  test('a person holds the repair before its next step to inspect the machine, and lets it go on', async () => {
    activities.health = [ill({ since: now, dueAt: now + 30 * minute }), ill()];
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'tolerating');

    await handle.executeUpdate(holdUpdate, { args: [{ actor: 'ann', reason: 'forensics', on: true }] });
    await rig.sleep('5 hours');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'held');
    expect(acts()).toEqual([]);
    await handle.executeUpdate(holdUpdate, { args: [{ actor: 'ann', on: false }] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  describe('a repair that waits for its turn', () => {
    const own = () => ({
      candidate: { claim, node: 'node-ill', nodePool: 'default', ...nowhere, pricePerHour: 0 },
      steps: [replace],
    });
    const nowhere = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' };
    let disrupt: WorkflowHandle;

    beforeEach(async () => {
      await startProvision(rig);
      disrupt = await startDisrupt(rig);
      activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    });
    test('paused, untaints the node while the replacement starts; resumed, replaces it', async () => {
      activities.health = [ill(own())];
      activities.nodeStates = ['waiting'];
      const handle = await start();
      await rig.until(() => activities.tainted.size === 1);
      await rig.until(() => activities.callsOf('syncNode').length > 0);
      const scope = { kind: 'reason', name: 'Unhealthy' } as const;

      await disrupt.executeUpdate(pauseUpdate, { args: [{ scope, actor: 'ann', reason: 'forensics' }] });
      await handle.signal(nodeChangedSignal);

      await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for its turn');
      expect(activities.tainted.size).toBe(0);
      expect(activities.callsOf('beginTermination')).toEqual([]);
      activities.nodeStates = ['initialized'];
      await disrupt.executeUpdate(resumeUpdate, { args: [{ scope, actor: 'ann' }] });
      await handle.signal(nodeChangedSignal);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    });

    test('waits while it is refused, and ends when the node recovers', async () => {
      activities.health = [ill(own()), { state: 'healthy' }];
      activities.admits = () => false;
      const handle = await start();
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'recovered', steps: [] });
      expect([...activities.tainted]).toEqual([]);
    });

    test('a repair that limits refuse for weeks continues as new, and asks for approval once', async () => {
      const approval = { timeoutMs: 60 * minute, onTimeout: 'Reject' } as const;
      activities.health = [ill({ ...own(), approval })];
      activities.admits = () => false;
      const handle = await start();
      await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');
      await handle.executeUpdate(approveUpdate, { args: [{ actor: 'ann' }] });
      await rig.until(() => activities.callsOf('taintCandidates').length > 0);

      await lengthen(rig, handle, nodeChangedSignal, wholeRun);

      activities.admits = () => true;
      await handle.signal(nodeChangedSignal);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    });
  });

  test('an abort ends the repair; once the node is being terminated it is refused', async () => {
    activities.health = [ill({ since: now, dueAt: now + 30 * minute })];
    const first = await start();
    await rig.until(async () => (await first.query(phaseQuery)) === 'tolerating');
    await first.executeUpdate(abortUpdate, { args: [{ actor: 'ann', reason: 'known issue' }] });
    await expect(first.result()).resolves.toMatchObject({
      outcome: 'rejected',
      reason: 'aborted by ann (known issue)',
    });
    expect(activities.inputsOf('declineRepair')).toMatchObject([{ why: 'aborted by ann (known issue)' }]);

    activities.health = [ill()];
    let letGo = (): void => undefined;
    activities.drainGate = new Promise((resolve) => (letGo = resolve));
    const second = await start();
    await rig.until(async () => (await second.query(phaseQuery)) === 'draining');
    const refused = second.executeUpdate(abortUpdate, { args: [{ actor: 'ann' }] });
    await expect(refused).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    await expect(refused).rejects.toMatchObject({ cause: { type: refusals.tooLate } });
    letGo();
    await expect(second.result()).resolves.toMatchObject({ outcome: 'replaced' });
  });

  test('a cancelled repair leaves no taint', async () => {
    await startProvision(rig);
    activities.health = [ill({ steps: [replace] })];
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    activities.nodeStates = ['waiting'];
    const handle = await start();
    await rig.until(() => activities.callsOf('syncNode').length > 0);
    expect(activities.tainted.size).toBe(1);

    await handle.cancel();

    await expect(handle.result()).rejects.toThrow();
    expect([...activities.tainted]).toEqual([]);
    expect(await plannedWithout(rig, activities)).toEqual([]);
  });

  test('a repair ends when its claim is deleted otherwise', async () => {
    activities.health = [ill({ since: now, dueAt: now + 30 * minute }), { state: 'gone' }];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'gone' });
  });

  test('a repair shortens the deadline of a drain that already runs, and starts no second one', async () => {
    let letGo = (): void => undefined;
    activities.drainGate = new Promise((resolve) => (letGo = resolve));
    activities.health = [ill()];
    await rig.start('terminateNode', workflowIds.terminate(cluster, claim.uid), {
      cluster,
      claim,
      nodePool: 'default',
      reason: 'drifted',
      deleteClaim: true,
    });
    await rig.until(() => activities.callsOf('drainNode').length === 1);
    activities.view = { state: 'gone' };

    await start();
    await rig.until(() => activities.callsOf('setDeadline').length === 1);
    activities.drainGate = undefined;
    letGo();
    expect(activities.callsOf('beginTermination')).toHaveLength(1);
  });
});
