import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import {
  abortUpdate,
  approveSignal,
  approveUpdate,
  expediteUpdate,
  explainQuery,
  nodeChangedSignal,
  holdUpdate,
  phaseQuery,
  rejectUpdate,
  retryUpdate,
  savingsQuery,
} from '../../workflows/messages.js';
import type { Candidate, ClaimRef, ConsolidateInput, ConsolidateResult, Decision } from '../../workflows/messages.js';
import { startDisrupt } from './entities.js';
import { activityNames, claimPlan, FakeActivities } from './fake-activities.js';
import { candidateOf, refusalOf } from './fixtures.js';
import { cluster, durationOf, lengthen, onServer, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

const ann = { actor: 'ann', reason: 'release day' };
const hour = 3_600_000;

const candidate = (name: string, serial: number): Candidate =>
  candidateOf({ name, uid: `uid-${name}-${serial}` }, { capacityType: 'on-demand' });

const replacing: Decision = {
  method: 'multi',
  decision: 'replace',
  replacements: [claimPlan(3)],
  typeLists: [['c6a.large', 'm5.large']],
  moves: [
    { pod: 'default/web-1', to: 'replacement-0-0' },
    { pod: 'default/web-2', to: 'node-c' },
  ],
  podCount: 3,
  priceBefore: 0.2,
  priceAfter: 0.12,
  alternatives: [{ nodes: 'node-d', why: 'it would save $0.001 of $0.1 an hour' }],
  alongside: [],
  targets: [{ node: 'node-c', nodePool: 'default' }],
};
const approved = { ...replacing, policy: 'careful', approval: { timeoutMs: 24 * hour, onTimeout: 'Reject' } as const };

describe('consolidate with replacements', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let id: string;
  let input: ConsolidateInput;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    const candidates = [candidate('a', activities.serial), candidate('b', activities.serial)];
    id = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    input = { cluster, reason: 'Underutilized', candidates, decision: replacing };
  });
  afterEach(async () => rig.finish());

  const start = async (more: Partial<ConsolidateInput> = {}): Promise<WorkflowHandle> =>
    rig.start('consolidate', id, { ...input, ...more });
  const inPhase = async (handle: WorkflowHandle, phase: string): Promise<unknown> =>
    rig.until(async () => (await handle.query(phaseQuery)) === phase);
  const untainted = (): void => expect([...activities.tainted]).toEqual([]);

  // Rules `commands/replacements-first`, `invariants/replacement-first`.
  test('launches the planned claims, and drains the candidate only when they are initialized', async () => {
    activities.nodeStates = ['waiting', 'registered', 'initialized'];

    const result = await (await start()).result();

    expect(result).toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'], savedPerHour: 0.08 });
    expect(result.replacements).toHaveLength(1);
    const steps = ['validateCandidates', 'taintCandidates', 'createClaims', 'launchInstance', 'beginTermination'];
    const order = activities.callsOf().filter((name) => steps.includes(name));
    expect([...new Set(order)]).toEqual(steps);
    const created = activities.inputsOf<{ planId: string; claims: unknown[] }>('createClaims');
    expect(created).toHaveLength(1);
    expect(created[0]!.planId.startsWith(`${id}/`)).toBe(true);
    expect(created[0]!.claims).toEqual(replacing.replacements);
    const synced = activities.calls.findLastIndex(({ name }) => name === 'syncNode');
    expect(activities.calls.findIndex(({ name }) => name === 'beginTermination')).toBeGreaterThan(synced);
  });

  const everything = { scope: { kind: 'cluster' }, reason: 'release', actor: 'ann' } as const;
  const waits = 'waiting for its turn';

  // Rule `invariants/pauses-hold`.
  test('paused, the command waits without a taint, and goes on when the pause is over', async () => {
    activities.pauses = [everything];
    const handle = await start();

    await inPhase(handle, waits);
    untainted();
    expect((await handle.query(explainQuery)).waitingFor).toBe('node-a: paused');
    expect(activities.callsOf()).not.toContain('createClaims');

    activities.pauses = [];
    await handle.signal(nodeChangedSignal);
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'] });
  });

  // Rule `invariants/pauses-hold`.
  test('a pause that begins when the nodes are about to be deleted keeps them, and takes their taints off', async () => {
    activities.pausedDeletions = ['the cluster is paused by ann: release', 'the cluster is paused by ann: release'];
    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'] });
    expect(activities.inputsOf('beginTermination')).toHaveLength(4);
    expect(activities.callsOf('taintCandidates')).toHaveLength(2);
    expect(activities.callsOf('createClaims')).toHaveLength(1);
  });

  // Rule `commands/refused-deletions`.
  test('candidates whose NodeClaims the API server refuses to delete are untainted, and count as failed', async () => {
    for (const name of ['a', 'b']) activities.deletionsRefused.set(name, 'policy says no');

    const result = await (await start()).result();

    expect(result).toMatchObject({ outcome: 'failed', reason: 'policy says no', terminated: [], savedPerHour: 0 });
    untainted();
    expect(activities.callsOf()).not.toContain('drainNode');
  });

  test('of several candidates the one whose NodeClaim the API server refuses to delete is untainted, the others are terminated', async () => {
    activities.deletionsRefused.set('a', 'policy says no');

    const result = await (await start()).result();

    expect(result).toMatchObject({ outcome: 'done', terminated: ['node-b'] });
    expect([...activities.tainted]).not.toContain('node-a');
  });

  // Rules `provisioning/refused-claims`, `commands/given-back`.
  test('replacements that the API server refuses end the command: candidates are untainted, and nothing is drained', async () => {
    activities.claimRefusals = ['admission policy x denied the request'];

    const result = await (await start()).result();

    expect(result).toMatchObject({ outcome: 'failed' });
    expect(JSON.stringify(result)).toContain('admission policy x denied the request');
    untainted();
    expect(activities.callsOf()).toContain('taintCandidates');
    expect(activities.callsOf()).not.toContain('beginTermination');
  });

  describe('steering', () => {
    const steering = { ...replacing, steers: true };
    const steps = ['awaitNode', 'syncNode', 'steerPods', 'beginTermination', 'drainNode'];

    test('taints other nodes before anything is evicted, and untaints them at the end', async () => {
      const handle = await start({ decision: steering });

      const { replacements = [] } = (await handle.result()) as ConsolidateResult;
      expect(replacements).toHaveLength(1);
      const claims = input.candidates.map(({ claim }) => claim);
      expect(activities.inputsOf('steerPods')).toEqual([
        { claims, targets: ['node-c', ...replacements] },
        { claims, targets: [] },
      ]);
      const order = activities.callsOf().filter((name) => steps.includes(name));
      expect(order.indexOf('steerPods')).toBeLessThan(order.indexOf('beginTermination'));
      expect(order.lastIndexOf('steerPods')).toBeGreaterThan(order.lastIndexOf('drainNode'));
    });

    test('is left out where it fails or is not answered within five seconds', async () => {
      activities.steerPods = async () => new Promise(() => undefined);
      const handle = await start({ decision: steering });

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
      expect(activities.callsOf('steerPods')).toHaveLength(2);
    });

    test('is not asked for where the input does not ask for it', async () => {
      await expect((await start()).result()).resolves.toMatchObject({ outcome: 'done' });
      expect(activities.callsOf()).not.toContain('steerPods');
    });
  });

  test('its decision record has nodes, pods, prices and rejected alternatives', async () => {
    const handle = await start({ decision: approved });
    await inPhase(handle, 'validating');

    const { facts, waitingFor } = await handle.query(explainQuery);

    expect(waitingFor).toBe('the validation that follows the decision');
    expect(facts).toMatchObject({
      'node-a': 'm5.large on-demand in a, 0.1 USD/h',
      'price per hour': '0.2 USD → 0.12 USD, saves 0.08 USD',
      'pods to move': '3: default/web-1 → the new node; default/web-2 → node-c; and 1 more',
      'rejected alternative 1': 'node-d: it would save $0.001 of $0.1 an hour',
      DisruptionPolicy: 'careful',
    });
  });

  test('a replacement that cannot be launched ends the command and leaves the candidates untainted', async () => {
    activities.refusal = { reason: 'insufficient_capacity', message: 'none left' };

    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'failed', terminated: [] });
    untainted();
    expect(activities.callsOf()).not.toContain('beginTermination');
  });

  // Rule `termination/launch-stops`.
  test.each([
    ['the only replacement', 'registers', 1, 'waiting', {}],
    ['the only replacement', 'is initialized', 1, 'registered', { nodeName: 'node-new' }],
    ['one of two replacements', 'registers', 2, 'waiting', {}],
  ] as const)('a command ends at once where %s is deleted before it %s', async (_, __, count, state, node) => {
    activities.nodeStates = [state];
    const replacements = Array.from({ length: count }, () => claimPlan(3));
    const handle = await start({ decision: { ...replacing, replacements } });
    await rig.until(() => activities.callsOf('syncNode').length === count);
    const [{ claim }] = activities.inputsOf<{ claim: ClaimRef }>('syncNode') as [{ claim: ClaimRef }];
    const deletedAt = await rig.now();
    activities.start = { state: 'terminating', providerId: 'x', mayBeLaunching: true, ...node };

    await rig.start('terminateNode', workflowIds.terminate(cluster, claim.uid), {
      ...{ cluster, claim, nodePool: 'default', reason: 'deleted', deleteClaim: false },
    });

    const reason = `replacement ${claim.name} did not become ready: its NodeClaim was deleted`;
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'failed', reason, terminated: [] });
    untainted();
    // By the read behind the signals it would have taken longer.
    expect((await rig.now()) - deletedAt).toBeLessThan(10_000);
    expect(activities.callsOf()).not.toContain('viewClaim');
    expect(activities.failed).toEqual([]);
  });

  test('a replacement that is not initialized within ten minutes ends the command: candidates are untainted, the replacement stays (commands/replacement-timeout, commands/replacements-stay)', async () => {
    activities.nodeStates = ['registered'];

    const handle = await start();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'failed', terminated: [] });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(600_000);
    untainted();
    expect(activities.callsOf()).not.toContain('failClaim');
  });

  describe('one of two candidates cannot be tainted (commands/partly-tainted)', () => {
    beforeEach(() => {
      activities.taintCandidates = async ({ candidates }) => {
        const marked = candidates.filter(({ node }) => node === 'node-a').map(({ claim }) => claim.uid);
        for (const uid of marked) activities.tainted.add(uid);
        return Promise.resolve({ tainted: marked });
      };
    });

    test('a command with replacements is abandoned, and the other candidate is untainted', async () => {
      await expect((await start()).result()).resolves.toMatchObject({
        outcome: 'failed',
        reason: 'not every candidate could be tainted',
        terminated: [],
      });
      untainted();
      expect(activities.callsOf()).not.toContain('createClaims');
    });

    test('a command without replacements goes on with the other candidate', async () => {
      const deleting: Decision = { ...replacing, decision: 'delete', replacements: [] };
      await expect((await start({ decision: deleting })).result()).resolves.toMatchObject({
        outcome: 'done',
        terminated: ['node-a'],
      });
    });
  });

  describe('budgets no longer allow one of two candidates when they are about to be tainted (budgets/counted-at-the-taint)', () => {
    beforeEach(() => {
      activities.overBudget = [['node-b']];
    });

    test('a command with replacements is abandoned, and the other candidate is untainted', async () => {
      await expect((await start()).result()).resolves.toMatchObject({
        outcome: 'abandoned',
        reason: 'node-b: budget 20% allows no more',
        terminated: [],
      });
      untainted();
      expect(activities.callsOf()).not.toContain('createClaims');
    });

    test('a command without replacements goes on with the other candidate', async () => {
      const deleting: Decision = { ...replacing, decision: 'delete', replacements: [] };
      await expect((await start({ decision: deleting })).result()).resolves.toMatchObject({ terminated: ['node-a'] });
    });
  });

  describe('a do-not-disrupt pod bound to a candidate before the taint', () => {
    const landed = [{ node: 'node-a', why: 'pod default/db was bound to it and is marked do-not-disrupt' }];

    test('ends a command with replacements: nothing is launched, and no taint stays', async () => {
      activities.landed = [landed];

      const result = await (await start()).result();

      expect(result).toMatchObject({ outcome: 'abandoned', reason: `node-a: ${landed[0]!.why}`, terminated: [] });
      expect(activities.callsOf('createClaims')).toEqual([]);
      untainted();
    });

    test('or marked while the replacement starts ends the command before the drain', async () => {
      activities.landed = [[], landed];

      const result = await (await start()).result();

      expect(result).toMatchObject({ outcome: 'abandoned', terminated: [] });
      expect(result.replacements).toHaveLength(1);
      expect(activities.callsOf('beginTermination')).toEqual([]);
      untainted();
    });

    test('leaves its node out of a command without replacements, which goes on with the others', async () => {
      activities.landed = [landed];
      const decision: Decision = { ...replacing, decision: 'delete', replacements: [], priceAfter: 0 };

      const result = await (await start({ decision })).result();

      expect(result).toMatchObject({ outcome: 'done', terminated: ['node-b'] });
      expect([...activities.tainted]).toEqual([input.candidates[1]!.claim.uid]);
    });
  });

  test('a replacement that is initialized is noticed though no signal says so', async () => {
    activities.nodeStates = ['registered'];
    const handle = await start();
    await inPhase(handle, 'launching');

    activities.view = { state: 'live', registered: true, initialized: true };

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
  });

  test('a command that no longer validates is abandoned as a whole', async () => {
    activities.valid = () => [];

    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'abandoned', reason: 'churn' });
    expect(activities.callsOf()).not.toContain('createClaims');
  });

  test("a person's order ends the wait before validation at once", async () => {
    const handle = await start();
    await inPhase(handle, 'validating');

    const { waitingFor } = await handle.executeUpdate(expediteUpdate, { args: [ann] });
    expect(waitingFor).not.toBe('the validation that follows the decision');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    expect(activities.callsOf()).toContain('validateCandidates');
  });

  test('a drifted node is replaced without the wait before validation', async () => {
    const handle = await start({ reason: 'Drifted', decision: { ...replacing, method: 'drift' } });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    expect(activities.callsOf()).not.toContain('measureCommand');
  });

  describe('approval of a command', () => {
    const asked = async (more: Partial<Decision> = {}): Promise<WorkflowHandle> => {
      await startDisrupt(rig);
      const handle = await start({ decision: { ...approved, ...more } });
      await rig.sleep('20 seconds');
      await inPhase(handle, 'awaiting approval');
      return handle;
    };

    test('an hour later validates the command again and carries it out', async () => {
      const handle = await asked();
      untainted();
      await rig.sleep('1 hour');

      const { facts } = await handle.executeUpdate(approveUpdate, { args: [ann] });

      expect(facts['reason']).toBe('Underutilized');
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
      expect(activities.callsOf('validateCandidates').length).toBeGreaterThanOrEqual(2);
    });

    test('is taken as a signal, too', async () => {
      const handle = await asked();
      await handle.signal(approveSignal, ann);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    });

    // Rule `budgets/woken`.
    test('an approved command that limits refuse for weeks keeps a short history, and is not asked about again', async () => {
      activities.admits = () => false;
      const handle = await asked();
      await handle.executeUpdate(approveUpdate, { args: [ann] });
      await rig.until(() => activities.callsOf('taintCandidates').length > 0);

      await lengthen(rig, handle, nodeChangedSignal, wholeRun);

      activities.admits = () => true;
      await handle.signal(nodeChangedSignal);
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
      expect(activities.callsOf('noteQuestion')).toHaveLength(1);
    });

    test('rejected, the command ends and nothing is tainted', async () => {
      const handle = await asked();

      await handle.executeUpdate(rejectUpdate, { args: [ann] });

      await expect(handle.result()).resolves.toMatchObject({
        outcome: 'rejected',
        reason: 'rejected by ann (release day)',
      });
      expect(activities.callsOf()).not.toContain('taintCandidates');
    });

    test.each([
      ['Reject', 'rejected'],
      ['Approve', 'done'],
    ] as const)('not answered: onTimeout %s makes the command %s', async (onTimeout, outcome) => {
      const handle = await asked({ approval: { timeoutMs: hour, onTimeout } });
      await expect(handle.result()).resolves.toMatchObject({ outcome });
      expect(await durationOf(handle)).toBeGreaterThanOrEqual(hour);
    });

    test('is refused with a reason where the order is invalid', async () => {
      const handle = await start({ decision: approved });
      await inPhase(handle, 'validating');
      expect(await refusalOf(handle.executeUpdate(approveUpdate, { args: [ann] }))).toBe('NothingToApprove');
      expect(await refusalOf(handle.executeUpdate(retryUpdate, { args: [ann] }))).toBe('NothingToRetry');
      expect(await refusalOf(handle.executeUpdate(abortUpdate, { args: [{ actor: '' }] }))).toBe('InvalidOrder');
      expect(await refusalOf(handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: false }] }))).toBe('NothingHeld');
    });
  });

  describe('a command that a person holds or aborts', () => {
    /** A replacement that does not come up before the test says so. */
    const launching = async (): Promise<WorkflowHandle> => {
      activities.nodeStates = ['registered'];
      const handle = await start();
      await rig.sleep('20 seconds');
      await inPhase(handle, 'launching');
      await rig.until(() => activities.callsOf('syncNode').length > 0);
      return handle;
    };
    const comesUp = (): void => {
      activities.nodeStates = ['initialized'];
      activities.view = { state: 'live', registered: true, initialized: true };
    };

    test('aborted while the replacement starts, leaves no taint and drains nothing', async () => {
      const handle = await launching();

      // The state after it, not before.
      const { phase, waitingFor } = await handle.executeUpdate(abortUpdate, { args: [ann] });
      expect([phase, waitingFor]).toEqual(['aborted', undefined]);

      await expect(handle.result()).resolves.toMatchObject({
        outcome: 'aborted',
        reason: 'aborted by ann (release day)',
        terminated: [],
      });
      untainted();
      expect(activities.callsOf()).not.toContain('beginTermination');
    });

    test('held before the drain, it untaints its candidates; released, it validates again and goes on', async () => {
      const handle = await launching();
      const held = await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] });
      expect(held.facts['held by']).toContain('ann');
      expect(await refusalOf(handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] }))).toBe('HeldAlready');
      comesUp();
      await rig.sleep('2 minutes');
      await inPhase(handle, 'held');
      await rig.until(() => activities.tainted.size === 0);
      expect(activities.callsOf()).not.toContain('beginTermination');
      const before = activities.callsOf('validateCandidates').length;

      const letGo = await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: false }] });
      expect([letGo.facts['held by'], letGo.facts['released by']]).toEqual([undefined, expect.stringContaining('ann')]);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'] });
      expect(activities.callsOf('validateCandidates')).toHaveLength(before + 1);
      expect(activities.callsOf('createClaims')).toHaveLength(1);
    });

    // Rule `invariants/pauses-hold`.
    test('paused while the cluster changes, the command untaints its nodes, is abandoned afterwards, and its replacement stays', async () => {
      const handle = await launching();
      activities.pauses = [everything];
      await handle.signal(nodeChangedSignal);
      await inPhase(handle, waits);
      await rig.until(() => activities.tainted.size === 0);
      comesUp();
      activities.valid = () => [];
      activities.pauses = [];

      await handle.signal(nodeChangedSignal);

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'abandoned', terminated: [] });
      untainted();
    });

    test('signalled while nothing is paused, the command goes on', async () => {
      const handle = await launching();
      await handle.signal(nodeChangedSignal);
      await rig.until(() => activities.callsOf('findPause').length === 1);
      comesUp();

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
      expect(activities.callsOf('taintCandidates')).toHaveLength(1);
    });

    test('cancelled while the replacement starts, leaves no taint', async () => {
      const handle = await launching();
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow();
      untainted();
    });

    test('can no longer be aborted or held once a node drains', async () => {
      let drained = (): void => undefined;
      activities.drainGate = new Promise((resolve) => (drained = resolve));
      const handle = await start();
      await rig.sleep('20 seconds');
      await rig.until(() => activities.callsOf('drainNode').length === 2);

      expect(await refusalOf(handle.executeUpdate(abortUpdate, { args: [ann] }))).toBe('TooLate');
      expect(await refusalOf(handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] }))).toBe('TooLate');

      drained();
      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    });
  });

  test('a candidate that is already being terminated does not delay the command', async () => {
    const [first] = input.candidates;
    const other = { cluster, claim: first!.claim, nodePool: 'default', reason: 'spot_interrupted', deleteClaim: true };
    const ended = await rig.start('terminateNode', workflowIds.terminate(cluster, first!.claim.uid), other);
    await ended.result();

    await expect((await start()).result()).resolves.toMatchObject({ outcome: 'done' });
  });

  // Rule `termination/started-anew`. The server that skips time does not report to a parent that its child was terminated.
  test.each(onServer ? (['cancel'] as const) : (['terminate', 'cancel'] as const))(
    'a drain workflow that is ended by hand (%s) is started again',
    async (end) => {
      let drained = (): void => undefined;
      activities.drainGate = new Promise((resolve) => (drained = resolve));
      const handle = await start();
      await rig.sleep('20 seconds');
      const [first] = input.candidates;
      const drain = (): WorkflowHandle =>
        rig.client.workflow.getHandle(workflowIds.terminate(cluster, first!.claim.uid));
      await rig.until(() => activities.callsOf('drainNode').length === input.candidates.length);
      const { runId } = await drain().describe();

      await drain()[end]();
      await rig.until(async () => (await drain().describe()).runId !== runId);
      drained();

      await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
      const reasons = activities.inputsOf<{ reason: string }>('beginTermination').map(({ reason }) => reason);
      expect(reasons).toEqual(['underutilized', 'underutilized', 'underutilized']);
    },
  );

  test('the saving is measured an hour and a day after the command', async () => {
    const handle = await start();
    await handle.result();
    const { runId } = await handle.describe();
    const measuring = rig.client.workflow.getHandle(workflowIds.savings(cluster, runId));

    await measuring.result();

    const measured = await measuring.query(savingsQuery);
    expect(measured.map(({ afterMs }) => afterMs)).toEqual([hour, 24 * hour]);
    expect(measured[0]?.realised).toBeCloseTo(0.08);
  });
});
