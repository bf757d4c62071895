import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DrainBlocker, DrainInput, DrainProgress, EscalationStep } from '../../activities/termination/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  expediteUpdate,
  abortUpdate,
  approveUpdate,
  explainQuery,
  launchStoppedSignal,
  refusals,
  rejectSignal,
  retryUpdate,
  searchAttributes,
} from '../../workflows/messages.js';
import type { ClaimRef, Explanation, TerminateNodeInput } from '../../workflows/messages.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { refusalOf } from './fixtures.js';
import { cluster, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

const minute = 60_000;
const budget: DrainBlocker = {
  cause: 'pdb-never',
  name: 'pdb/default/web (never)',
  why: 'can never allow an eviction: maxUnavailable is 0',
  pods: ['default/web-1', 'default/web-2'],
  podCount: 7,
};
const protectedPod: DrainBlocker = {
  cause: 'do-not-disrupt',
  name: 'pod/default/holy (do-not-disrupt)',
  why: 'is marked karpenter.sh/do-not-disrupt',
  pods: ['default/holy'],
  podCount: 1,
};
const blocked = (blockers: readonly DrainBlocker[], evicted = 0): DrainProgress => ({
  state: 'blocked',
  blockedBy: blockers.map(({ name }) => name),
  blockers,
  remaining: 3,
  evicted,
  longestGraceMs: 90_000,
});

describe('escalation steps of a stuck drain', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;
  let input: TerminateNodeInput;
  let workflowId: string;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-abc', uid: `uid-steps-${activities.serial}` };
    input = { cluster, claim, nodePool: 'default', reason: 'drifted', deleteClaim: true };
    workflowId = workflowIds.terminate(cluster, claim.uid);
    activities.drains = [blocked([budget, protectedPod])];
    activities.stuck = true;
  });
  afterEach(async () => rig.finish());

  const configure = (...escalation: EscalationStep[]): void => {
    activities.start = {
      state: 'terminating',
      providerId: 'fake:///z/i-1',
      nodeName: 'node-1',
      longestGraceMs: 30_000,
      escalation,
    };
  };
  const start = (): ReturnType<WorkflowRig['start']> => rig.start('terminateNode', workflowId, input);
  const stuckAt = async (): Promise<number> => {
    await rig.until(() => activities.callsOf('drainNode').length > 1);
    await rig.rest();
    return rig.now();
  };

  test('Notify, RestartOwner of pods that a budget holds, and Force come each at its time', async () => {
    configure(
      { afterMs: 5 * minute, action: 'Notify' },
      { afterMs: 30 * minute, action: 'RestartOwner' },
      { afterMs: 120 * minute, action: 'Force' },
    );
    activities.restart = {
      restarted: ['Deployment default/web'],
      refused: [{ owner: 'Pod default/web-2', why: 'no Deployment or StatefulSet owns it' }],
    };
    const handle = await start();
    const since = await stuckAt();
    const steps = (): string[] => activities.callsOf().filter((name) => /notify|restart|setDeadline/.test(name));

    await rig.sleep('6 minutes');
    await rig.until(() => steps().length === 1);
    const explained: Explanation = await handle.query(explainQuery);
    await rig.sleep('26 minutes');
    await rig.until(() => steps().length === 2);
    await rig.sleep('95 minutes');
    await rig.until(() => steps().length === 3);
    activities.stuck = false;
    await handle.result();

    expect(steps()).toEqual(['notifyStuckDrain', 'restartOwners', 'setDeadline']);
    expect(explained.waitingFor).toBe(
      'pdb/default/web: can never allow an eviction: maxUnavailable is 0; ' +
        'pod/default/holy: is marked karpenter.sh/do-not-disrupt',
    );
    expect(explained.facts).toMatchObject({
      'blocked by':
        'pdb/default/web can never allow an eviction: maxUnavailable is 0 (holds default/web-1, default/web-2 and 5 more); ' +
        'pod/default/holy is marked karpenter.sh/do-not-disrupt (holds default/holy)',
    });
    const [notified] = activities.inputsOf<{ stuckMs: number }>('notifyStuckDrain');
    expect(notified).toMatchObject({ claim, nodeName: 'node-1', blockers: [budget, protectedPod] });
    expect(Math.round((notified?.stuckMs ?? 0) / minute)).toBe(5);
    expect(activities.inputsOf('restartOwners')).toMatchObject([{ pods: ['default/web-1', 'default/web-2'] }]);
    const deadline = activities.inputsOf<{ deadline: number }>('setDeadline')[0]?.deadline ?? 0;
    // Protection ends; pods keep the longest grace that one of them has.
    expect(deadline).toBeGreaterThanOrEqual(since + 120 * minute + 90_000 - 5000);
    expect(deadline).toBeLessThanOrEqual(since + 122 * minute + 90_000);
    expect(activities.inputsOf<DrainInput>('drainNode').at(-1)?.deadline).toBe(deadline);
    const done: Explanation = await handle.query(explainQuery);
    expect(done.facts['escalation: RestartOwner']).toMatch(
      /; Deployment default\/web; Pod default\/web-2 not: no Deployment or StatefulSet owns it$/,
    );
  });

  test('start anew when pods leave, and end when nothing holds the drain up', async () => {
    configure({ afterMs: 10 * minute, action: 'Notify' });
    const handle = await start();
    await stuckAt();

    await rig.sleep('8 minutes');
    activities.drains = [blocked([budget], 1)];
    await rig.sleep('4 minutes');
    expect(activities.callsOf('notifyStuckDrain')).toEqual([]);
    activities.drains = [{ ...blocked([]), blockedBy: [] }];
    await rig.sleep('30 minutes');
    expect(activities.callsOf('notifyStuckDrain')).toEqual([]);
    activities.stuck = false;

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
  });

  test('go on with the next step where one fails, and the failure is noted', async () => {
    configure({ afterMs: minute, action: 'RestartOwner' }, { afterMs: 2 * minute, action: 'Notify' });
    activities.restart = ApplicationFailure.nonRetryable('patch Deployment default/web: forbidden', 'Denied');
    const handle = await start();
    await stuckAt();

    await rig.sleep('3 minutes');
    await rig.until(() => activities.callsOf('notifyStuckDrain').length === 1);

    const { facts }: Explanation = await handle.query(explainQuery);
    expect(facts['escalation: RestartOwner']).toMatch(/^failed at .*forbidden/);
    activities.stuck = false;
    await handle.result();
  });

  test('go on after continue-as-new with the next step that is due', async () => {
    configure({ afterMs: 10 * minute, action: 'Notify' }, { afterMs: 60 * minute, action: 'RestartOwner' });
    const now = await rig.now();
    const carried = {
      startedAt: now - 60 * minute,
      drainingSince: now - 59 * minute,
      evicted: 4,
      escalation: { stuckSince: now - 58 * minute, taken: 1 },
    };
    const handle = await rig.start('terminateNode', workflowId, { ...input, carried });
    await stuckAt();

    await rig.sleep('3 minutes');
    await rig.until(() => activities.callsOf('restartOwners').length === 1);
    activities.stuck = false;

    const result = await handle.result();
    expect(result).toMatchObject({ outcome: 'terminated', podsEvicted: 4 });
    expect(result.durationMs).toBeGreaterThanOrEqual(60 * minute);
    expect(activities.callsOf('notifyStuckDrain')).toEqual([]);
  });

  test('a stuck drain without steps waits', async () => {
    const handle = await start();
    await stuckAt();

    await rig.sleep('30 hours');

    expect(new Set(activities.callsOf())).toEqual(new Set(['beginTermination', 'drainNode']));
    activities.stuck = false;
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
  });

  test("a person's expedite ends do-not-disrupt and budgets, and pods keep their grace period", async () => {
    const handle = await start();
    await stuckAt();
    const before = await rig.now();

    const order = { actor: 'ann', reason: 'release' };
    const refused = handle.executeUpdate(expediteUpdate, { args: [order] });
    await expect(refused.catch((error: unknown) => (error as { cause: Error }).cause.message)).resolves.toBe(
      'it deletes the pods default/web-1, default/web-2 and 5 more, which pdb/default/web protects; ' +
        'default/holy, which karpenter.sh/do-not-disrupt protects; say so with "force": true ' +
        '(stowage expedite --force), or leave it as it is',
    );
    expect(activities.callsOf('setDeadline')).toEqual([]);
    const left = { state: 'waiting', blockedBy: [], remaining: 1, evicted: 2 } as const;
    activities.drains = [{ ...left, forced: { pods: ['default/web-1', 'default/holy'], podCount: 2 } }];
    await handle.signal('expedite', { ...order, force: true });
    await rig.until(() => activities.callsOf('setDeadline').length === 1);
    activities.stuck = false;
    await handle.result();

    const deadline = activities.inputsOf<{ deadline: number }>('setDeadline')[0]?.deadline ?? 0;
    expect(deadline - before).toBeGreaterThanOrEqual(90_000);
    expect(deadline - before).toBeLessThan(100_000);
    const { facts }: Explanation = await handle.query(explainQuery);
    expect(facts['expedited by']).toBe('ann (release)');
    expect(facts['force ordered by']).toMatch(/^ann \(release\): it deletes the pods default\/web-1/);
    expect(facts['forced by']).toMatch(/^ann \(release\): deleted default\/web-1, default\/holy in spite/);
    await expect(handle.result()).resolves.toMatchObject({ forcedBy: 'ann (release)' });
    expect(activities.inputsOf('publishDisruption')).toMatchObject([
      {
        nodes: ['node-1'],
        reason: 'DrainForced',
        message: expect.stringMatching(/^Drain forced by ann \(release\): deleted default\/web-1, default\/holy in/),
      },
    ]);
    expect((await handle.query(explainQuery)).phase).toBe('forced');
  });

  test('a drain with a forced deadline that had no pods left at that time counts as not forced (termination/forced-pods)', async () => {
    const handle = await start();
    await stuckAt();
    const deadline = (await rig.now()) + 60 * minute;

    await handle.executeUpdate(expediteUpdate, { args: [{ actor: 'ann', force: true, deadline }] });
    await rig.until(() => activities.callsOf('setDeadline').length === 1);
    const { facts, phase }: Explanation = await handle.query(explainQuery);
    activities.stuck = false;

    await expect(handle.result()).resolves.not.toHaveProperty('forcedBy');
    expect(phase).toBe('draining');
    expect(facts['force ordered by']).toMatch(/^ann: it deletes at /);
    expect(activities.inputsOf('publishDisruption')).toEqual([]);
    expect((await handle.query(explainQuery)).phase).toBe('terminated');
  });

  test("pods whose deadline another disruption shortened after a person's are not recorded as forced by that person", async () => {
    const handle = await start();
    await stuckAt();
    const now = await rig.now();
    await handle.executeUpdate(expediteUpdate, { args: [{ actor: 'ann', force: true, deadline: now + 60 * minute }] });
    await rig.until(() => activities.callsOf('setDeadline').length === 1);
    await rig.rest();

    activities.drains = [
      { state: 'waiting', blockedBy: [], remaining: 0, evicted: 1, forced: { pods: ['default/web-1'], podCount: 1 } },
    ];
    activities.stuck = false;
    await handle.signal('expedite', { deadline: now, reason: 'unhealthy' });

    await expect(handle.result()).resolves.not.toHaveProperty('forcedBy');
    expect(activities.inputsOf('publishDisruption')).toEqual([]);
  });

  describe('asking a person before Force', () => {
    const awaiting = async (handle: Awaited<ReturnType<typeof start>>): Promise<boolean | undefined> =>
      (await handle.describe()).typedSearchAttributes.get(searchAttributes.awaitingApproval);
    const asked = async (...more: EscalationStep[]): ReturnType<typeof start> => {
      configure({ afterMs: 10 * minute, action: 'AskApproval' }, ...more);
      const handle = await start();
      await stuckAt();
      // Between two attempts to drain.
      await rig.sleep('11.5 minutes');
      await rig.until(() => awaiting(handle));
      return handle;
    };
    const force = { afterMs: 60 * minute, action: 'Force' } as const;

    test('an approval forces the drain', async () => {
      const handle = await asked(force);

      const { facts: before, question }: Explanation = await handle.query(explainQuery);
      expect(question).toMatchObject({ what: 'force the drain of node-1?', unanswered: 'Force follows' });
      expect(`Force at ${question?.until.replace(/\.\d+Z$/, 'Z')}`).toBe(before['next step']);
      expect(before['question']).toMatch(
        /^force the drain of node-1\? yes deletes the pods default\/web-1, .*; no ends the escalation; without an answer until \S+ Force follows$/,
      );
      expect(before['active step']).toBe('AskApproval');
      expect(before['next step']).toMatch(/^Force at /);
      expect(await refusalOf(handle.executeUpdate(approveUpdate, { args: [{ actor: 'ann' }] }))).toBe(
        'BreaksProtection',
      );
      const order = { actor: 'ann', reason: 'release', force: true };
      const answer = await handle.executeUpdate(approveUpdate, { args: [order] });
      await rig.until(() => activities.callsOf('setDeadline').length === 1);
      activities.stuck = false;
      await handle.result();

      expect(answer.phase).toBe('draining');
      expect(await awaiting(handle)).toBe(false);
      const { facts, question: after }: Explanation = await handle.query(explainQuery);
      expect(facts['escalation: AskApproval']).toBe('approved by ann (release)');
      expect([facts['question'], after]).toEqual([undefined, undefined]);
      expect(facts['active step']).toBe('none');
    });

    test('a rejection ends the steps', async () => {
      const handle = await asked(force);

      await handle.signal(rejectSignal, { actor: 'ann' });
      await rig.until(async () => (await awaiting(handle)) === false);
      await rig.sleep('3 hours');

      expect(activities.callsOf('setDeadline')).toEqual([]);
      activities.stuck = false;
      await handle.result();
    });

    test('an open question and a rejection are carried over continue-as-new', async () => {
      const handle = await asked(force);
      const goOn = async (): Promise<void> => {
        const { runId } = await handle.describe();
        while ((await handle.describe()).historyLength <= wholeRun) {
          await Promise.all(Array.from({ length: 200 }, async () => handle.signal(launchStoppedSignal, {})));
        }
        activities.drains = [blocked([budget, protectedPod])];
        await handle.executeUpdate(retryUpdate, { args: [{ actor: 'ann' }] });
        await rig.until(async () => (await handle.describe()).runId !== runId);
        await rig.until(() => activities.drains.length === 0);
      };

      await goOn();
      await rig.until(() => awaiting(handle));
      await handle.signal(rejectSignal, { actor: 'ann' });
      await rig.until(async () => (await awaiting(handle)) === false);
      await goOn();
      await rig.sleep('3 hours');

      expect(activities.callsOf('setDeadline')).toEqual([]);
      activities.stuck = false;
      await handle.result();
    });

    test('without an answer in time the next step is taken', async () => {
      const handle = await asked(force);

      await rig.sleep('55 minutes');
      await rig.until(() => activities.callsOf('setDeadline').length === 1);

      await rig.until(async () => (await awaiting(handle)) === false);
      activities.stuck = false;
      await handle.result();
    });

    test('invalid orders are refused with a reason', async () => {
      activities.drainGate = new Promise(() => undefined);
      activities.stuck = false;
      const handle = await start();
      await rig.until(() => activities.callsOf('drainNode').length === 2);
      const refusal = async (order: Promise<unknown>): Promise<unknown> =>
        order.then(
          () => 'taken',
          (error: unknown) => (error instanceof WorkflowUpdateFailedError ? error.cause : error),
        );
      const args: [{ actor: string }] = [{ actor: 'ann' }];

      await expect(refusal(handle.executeUpdate(approveUpdate, { args }))).resolves.toMatchObject({
        type: refusals.nothingToApprove,
      });
      await expect(refusal(handle.executeUpdate(abortUpdate, { args }))).resolves.toMatchObject({
        type: refusals.tooLate,
      });
      await expect(refusal(handle.executeUpdate(retryUpdate, { args: [{ actor: '' }] }))).resolves.toMatchObject({
        type: refusals.invalid,
      });
      // No date can be made of it.
      const never = { actor: 'ann', deadline: 1e300 };
      await expect(refusal(handle.executeUpdate(expediteUpdate, { args: [never] }))).resolves.toMatchObject({
        type: refusals.invalid,
      });
      activities.drainGate = undefined;
      await handle.executeUpdate(retryUpdate, { args });
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'terminated' });
    });
  });

  test("the end of the instance reaches a running drain, and shortens no pod's protection", async () => {
    const handle = await start();
    await stuckAt();
    const ends = (await rig.now()) + 120_000;

    await handle.signal('expedite', { instanceEndsAt: ends, reason: 'spot_interrupted' });
    await rig.until(() => activities.inputsOf<DrainInput>('drainNode').at(-1)?.instanceEndsAt === ends);
    activities.stuck = false;
    await handle.result();

    expect(activities.callsOf('setDeadline')).toEqual([]);
  });

  test('an expedite without force and without protected pods only looks again', async () => {
    activities.drains = [blocked([])];
    const handle = await start();
    await stuckAt();

    activities.stuck = false;
    await handle.executeUpdate(expediteUpdate, { args: [{ actor: 'ann' }] });
    await expect(handle.result()).resolves.not.toHaveProperty('forcedBy');

    expect(activities.callsOf('setDeadline')).toEqual([]);
  });

  test('a drain held up by do-not-disrupt alone names who can end that, and how', async () => {
    activities.drains = [blocked([protectedPod])];
    const handle = await start();
    await stuckAt();

    const { facts }: Explanation = await handle.query(explainQuery);
    activities.stuck = false;
    await handle.executeUpdate(retryUpdate, { args: [{ actor: 'ann' }] });
    await handle.result();

    expect(facts['can be ended by']).toBe(
      'the owner of the pod: kubectl -n default annotate pod holy karpenter.sh/do-not-disrupt- (or deletes it); ' +
        'you, overriding it: stowage expedite node-1 --force',
    );
  });

  test('a cancelled drain takes no further step and keeps its instance', async () => {
    configure({ afterMs: 10 * minute, action: 'Notify' });
    const handle = await start();
    await stuckAt();

    await handle.cancel();

    await expect(handle.result()).rejects.toThrow();
    expect(activities.callsOf('finishTermination')).toEqual([]);
  });

  test('a drain that finds the instance gone skips volumes and removes the finalizers', async () => {
    activities.stuck = false;
    activities.drains = [{ state: 'done', blockedBy: [], remaining: 2, evicted: 0, instanceGone: true }];

    const handle = await start();
    await handle.result();

    expect(activities.callsOf()).not.toContain('awaitVolumesDetached');
    expect(activities.callsOf()).toContain('finishTermination');
  });
});
