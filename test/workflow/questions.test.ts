import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { DisruptionCommand } from '../../disruption/command.js';
import type { DisruptionActivities } from '../../activities/disruption/contract.js';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  abortUpdate,
  approveUpdate,
  clusterChangedSignal,
  explainQuery,
  phaseQuery,
  nodeChangedSignal,
  reconsiderSignal,
  reconsiderUpdate,
  rejectUpdate,
  runningQuery,
} from '../../workflows/messages.js';
import type { Candidate, Decision } from '../../workflows/messages.js';
import { startDisrupt } from './entities.js';
import { activityNames, claimPlan, FakeActivities } from './fake-activities.js';
import { candidateOf, refusalOf } from './fixtures.js';
import { cluster, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const ann = { actor: 'ann', reason: 'release day' };
const hour = 3_600_000;

describe("a command that waits for a person's approval", () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let a: Candidate;
  let b: Candidate;
  let id: string;
  let command: DisruptionCommand;
  let disrupt: WorkflowHandle;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    [a, b] = ['a', 'b'].map((name) => candidateOf({ name, uid: `uid-${name}-${activities.serial}` })) as [
      Candidate,
      Candidate,
    ];
    id = workflowIds.consolidate(
      cluster,
      [a, b].map(({ claim }) => claim.uid),
    );
    const decision: Decision = {
      method: 'multi',
      decision: 'replace',
      replacements: [claimPlan(3)],
      typeLists: [['c6a.large']],
      moves: [{ pod: 'default/web-1', to: 'replacement-0-0' }],
      podCount: 1,
      priceBefore: 0.2,
      priceAfter: 0.12,
      alternatives: [],
      alongside: [],
      targets: [],
      policy: 'careful',
      approval: { timeoutMs: 24 * hour, onTimeout: 'Reject' },
    };
    command = { reason: 'Underutilized', candidates: [a, b], decision };
  });
  afterEach(async () => rig.finish());

  /** The question is open, and `disrupt` has looked again since. */
  const asked = async (): Promise<WorkflowHandle> => {
    activities.found = [{ commands: [command] }];
    disrupt = await startDisrupt(rig);
    await rig.until(async () => (await disrupt.query(runningQuery)).length === 1);
    const handle = rig.client.workflow.getHandle(id);
    await rig.sleep('20 seconds');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');
    return handle;
  };
  const look = async (): Promise<DisruptionView> => {
    const looks = activities.callsOf('findDisruptions').length;
    await disrupt.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length > looks);
    return activities.inputsOf<DisruptionView>('findDisruptions').at(-1)!;
  };
  const started = async (): Promise<number> => (await disrupt.query(runningQuery)).length;

  test('uses no budget: nothing is tainted, and the NodeClaims say that a person is asked', async () => {
    const handle = await asked();

    expect(activities.inputsOf('noteQuestion')).toMatchObject([
      { workflow: id, reason: 'Underutilized', candidates: [{}, {}], saves: expect.closeTo(0.08) },
    ]);
    expect([...activities.tainted]).toEqual([]);
    const { waitingFor } = await handle.query(explainQuery);
    expect(waitingFor).toBe(
      'approval to disrupt node-a, node-b, Underutilized (DisruptionPolicy careful asks): yes launches 1 replacement, ' +
        'evicts 1 pod and terminates 2 nodes, and saves 0.08 USD an hour; PodDisruptionBudgets and do-not-disrupt hold ' +
        '(rejected if nobody answers)',
    );
  });

  test('waits for its turn after the yes, as a whole, and is validated again', async () => {
    const handle = await asked();
    activities.admits = () => false;

    const answer = await handle.executeUpdate(approveUpdate, { args: [ann] });
    expect(answer.phase).toBe('approved');
    expect(answer.facts['consent']).toBe('approved by ann (release day)');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for its turn');
    expect(activities.inputsOf('taintCandidates').at(-1)).toMatchObject({
      together: true,
      waitsFor: ['Budget', 'Pause'],
    });
    expect([...activities.tainted]).toEqual([]);
    const validated = activities.callsOf('validateCandidates').length;

    activities.admits = () => true;
    await handle.signal(nodeChangedSignal);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    expect(activities.callsOf('validateCandidates').length).toBeGreaterThan(validated);
    await rig.until(async () => (await started()) === 0);
  });

  // Rule `people/one-after-another`.
  test('once tainted is validated as if the nodes of earlier commands were gone', async () => {
    const handle = await asked();
    activities.alongside = ['node-x'];
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    await handle.result();

    const validated =
      activities.inputsOf<Parameters<DisruptionActivities['validateCandidates']>[0]>('validateCandidates');
    expect(validated.at(-1)?.decision?.alongside).toEqual(['node-x']);
  });

  test('ends with its cause, and says so', async () => {
    const handle = await asked();

    activities.found = [{ commands: [], moot: [{ workflowId: id, why: 'node-a is gone' }] }];
    await look();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'withdrawn', reason: 'node-a is gone' });
    expect(activities.inputsOf('publishDisruption').at(-1)).toMatchObject({
      reason: 'ConsolidationWithdrawn',
      message: 'no longer asked for: node-a is gone',
    });
    await rig.until(async () => (await started()) === 0);
    expect(activities.refusals).toEqual([]);
  });

  test('approved too late, ends while it waits for its turn', async () => {
    const handle = await asked();
    activities.admits = () => false;
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for its turn');

    activities.found = [{ commands: [], moot: [{ workflowId: id, why: 'node-a is gone' }] }];
    await look();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'withdrawn' });
  });

  test('replaced by another command, leaves nothing behind that keeps its nodes', async () => {
    const handle = await asked();

    activities.found = [{ commands: [], moot: [{ workflowId: id, why: 'Empty: decided anew', isSuperseded: true }] }];
    await look();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'withdrawn', reason: 'Empty: decided anew' });
    await rig.until(async () => (await started()) === 0);
    expect((await look()).memory).toBeUndefined();
  });

  test('is validated every hour, and ends when it no longer holds', async () => {
    const handle = await asked();
    activities.valid = () => [];

    await rig.sleep('62 minutes');

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'abandoned', reason: 'churn' });
  });

  test('takes an answer that comes while it is validated', async () => {
    const handle = await asked();
    await rig.sleep('3 hours');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');

    await handle.executeUpdate(approveUpdate, { args: [ann] });

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
  });

  test.each([
    ['rejected', rejectUpdate],
    ['aborted', abortUpdate],
  ] as const)(
    '%s: the answer is remembered for its reason and saving, and an order undoes it',
    async (outcome, update) => {
      const handle = await asked();

      const answer = await handle.executeUpdate(update, { args: [ann] });
      expect(answer.phase).toBe(outcome);
      await expect(handle.result()).resolves.toMatchObject({ outcome, reason: `${outcome} by ann (release day)` });

      expect(activities.inputsOf('noteRefused')).toMatchObject([
        {
          ...{ outcome, reason: 'Underutilized', saves: expect.closeTo(0.08) },
          nodes: [{ node: 'node-a' }, { node: 'node-b' }],
          why: `${outcome} by ann (release day)`,
        },
      ]);
      const order = async (more: object): Promise<unknown> =>
        disrupt.executeUpdate(reconsiderUpdate, { args: [{ ...ann, ...more }] });
      expect(await refusalOf(order({}))).toBe('InvalidOrder');
      expect(await refusalOf(order({ node: 'node-a', all: true }))).toBe('InvalidOrder');
      expect(await order({ node: 'node-b' })).toEqual([]);
      expect(await refusalOf(order({ node: 'node-z' }))).toBe('NothingRefused');
      // A late order by signal has no reply: the refusal is a fact of the workflow.
      await disrupt.signal(reconsiderSignal, { ...ann, node: 'node-b' });
      await rig.until(async () => (await disrupt.query(explainQuery)).facts['last order refused'] !== undefined);
      const { facts } = await disrupt.query(explainQuery);
      expect(facts['last order refused']).toContain('nothing is refused');
    },
  );
});
