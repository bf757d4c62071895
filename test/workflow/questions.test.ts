import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  questionsQuery,
  reconsiderSignal,
  reconsiderUpdate,
  refusedQuery,
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
    await rig.until(async () => (await disrupt.query(questionsQuery)).length === 1);
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
  const running = async (): Promise<string[]> =>
    (await disrupt.query(runningQuery)).flatMap(({ candidates }) => candidates.map(({ node }) => node));

  test('holds no slot: it does not count as disrupting, and decisions see that a person is asked', async () => {
    const handle = await asked();

    const view = await look();

    expect(view.running).toEqual([]);
    expect(view.questions).toMatchObject([{ workflowId: id, reason: 'Underutilized', candidates: [{}, {}] }]);
    expect(view.questions?.[0]?.saves).toBeCloseTo(0.08);
    expect(view.pastDisruptions).toBeUndefined();
    expect([...activities.tainted]).toEqual([]);
    const { waitingFor } = await handle.query(explainQuery);
    expect(waitingFor).toBe(
      'approval to disrupt node-a, node-b, Underutilized (DisruptionPolicy careful asks): yes launches 1 replacement, ' +
        'evicts 1 pod and terminates 2 nodes, and saves 0.08 USD an hour; PodDisruptionBudgets and do-not-disrupt hold ' +
        '(rejected if nobody answers)',
    );
  });

  test('takes its slot after approval, all nodes or none, is validated again, and counts until it ends', async () => {
    const handle = await asked();
    activities.admits = () => false;

    const answer = await handle.executeUpdate(approveUpdate, { args: [ann] });
    expect(answer.phase).toBe('approved');
    expect(answer.facts['consent']).toBe('approved by ann (release day)');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for a disruption slot');
    await rig.until(() => activities.callsOf('decideSlots').length > 0);
    const requests = activities.inputsOf<{ requests: unknown[] }>('decideSlots').at(-1)?.requests;
    expect(requests).toMatchObject([{ reason: 'Underutilized', together: true }]);
    expect(await running()).toEqual([]);
    expect([...activities.tainted]).toEqual([]);
    const validated = activities.callsOf('validateCandidates').length;

    let drained = (): void => undefined;
    activities.drainGate = new Promise((resolve) => (drained = resolve));
    activities.admits = () => true;
    await look();
    await rig.until(() => activities.callsOf('drainNode').length === 2);
    expect((await running()).sort()).toEqual(['node-a', 'node-b']);
    expect(activities.callsOf('validateCandidates').length).toBeGreaterThan(validated);
    drained();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done' });
    await rig.until(async () => (await running()).length === 0);
    expect(await disrupt.query(questionsQuery)).toEqual([]);
  });

  // Rule `people/one-after-another`.
  test('approved at the same time as another, is validated as if the nodes of that one were gone', async () => {
    const c = candidateOf({ name: 'c', uid: `uid-c-${activities.serial}` });
    const other: DisruptionCommand = {
      reason: 'Underutilized',
      candidates: [c],
      decision: { ...command.decision!, alongside: ['node-z'] },
    };
    activities.found = [{ commands: [command, other] }];
    disrupt = await startDisrupt(rig);
    const handles = [id, workflowIds.consolidate(cluster, [c.claim.uid])].map((one) =>
      rig.client.workflow.getHandle(one),
    );
    await rig.until(async () => (await disrupt.query(questionsQuery)).length === 2);
    await rig.sleep('20 seconds');
    activities.admits = () => false;
    for (const handle of handles) {
      await rig.until(async () => (await handle.query(phaseQuery)) === 'awaiting approval');
      await handle.executeUpdate(approveUpdate, { args: [ann] });
      await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for a disruption slot');
    }
    activities.admits = () => true;
    await look();
    await Promise.all(handles.map(async (handle) => handle.result()));

    const alongsideOf = (node: string): readonly string[] | undefined =>
      activities
        .inputsOf<Parameters<DisruptionActivities['validateCandidates']>[0]>('validateCandidates')
        .filter(({ candidates }) => candidates.some((one) => one.node === node))
        .at(-1)?.decision?.alongside;
    expect(alongsideOf('node-a')).toEqual([]);
    expect(alongsideOf('node-c')).toEqual(['node-z', 'node-a', 'node-b']);
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
    await rig.until(async () => (await disrupt.query(questionsQuery)).length === 0);
    expect(await disrupt.query(refusedQuery)).toEqual([]);
  });

  test('approved too late, ends while it waits for its slot', async () => {
    const handle = await asked();
    activities.admits = () => false;
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for a disruption slot');

    activities.found = [{ commands: [], moot: [{ workflowId: id, why: 'node-a is gone' }] }];
    await look();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'withdrawn' });
  });

  test('ends when another disruption of its nodes is decided, which then begins', async () => {
    const handle = await asked();
    const empty: DisruptionCommand = { reason: 'Empty', candidates: [a] };

    // It is found again when the question is over.
    activities.found = [{ commands: [empty] }, { commands: [empty] }];
    await look();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'withdrawn', reason: 'Empty: decided anew' });
    await rig.until(async () => (await running()).join() === 'node-a');
    await rig.client.workflow.getHandle(workflowIds.consolidate(cluster, [a.claim.uid])).result();
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
    ['rejected', 24 * hour, rejectUpdate],
    ['aborted', hour, abortUpdate],
  ] as const)(
    '%s: the answer is remembered for its reason and saving, and an order undoes it',
    async (outcome, ms, update) => {
      const handle = await asked();

      const answer = await handle.executeUpdate(update, { args: [ann] });
      expect(answer.phase).toBe(outcome);
      await expect(handle.result()).resolves.toMatchObject({ outcome, reason: `${outcome} by ann (release day)` });

      const [refused] = await rig.until(async () => {
        const found = await disrupt.query(refusedQuery);
        return found.length > 0 ? found : undefined;
      });
      expect(refused).toMatchObject({
        reason: 'Underutilized',
        nodes: [{ node: 'node-a' }, { node: 'node-b' }],
        why: `${outcome} by ann (release day)`,
      });
      expect(refused!.until - refused!.at).toBe(ms);
      expect((await look()).refused).toHaveLength(1);
      const order = async (more: object): Promise<unknown> =>
        disrupt.executeUpdate(reconsiderUpdate, { args: [{ ...ann, ...more }] });
      expect(await refusalOf(order({ node: 'node-z' }))).toBe('NothingRefused');
      expect(await refusalOf(order({}))).toBe('InvalidOrder');
      expect(await refusalOf(order({ node: 'node-a', all: true }))).toBe('InvalidOrder');
      expect(await order({ node: 'node-b' })).toEqual([]);
      expect((await look()).refused).toBeUndefined();
      // Too late, and nobody answers: it is noted.
      await disrupt.signal(reconsiderSignal, { ...ann, node: 'node-b' });
      const { facts } = await disrupt.query(explainQuery);
      expect(facts['last order refused']).toContain('nothing is refused for node-b');
    },
  );
});
