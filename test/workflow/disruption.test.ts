import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  clusterChangedSignal,
  disruptionFinishedSignal,
  explainQuery,
  nominatedSignal,
  pausesQuery,
  pauseSignal,
  phaseQuery,
  refusedQuery,
  resumeSignal,
  runningQuery,
  steerSignal,
} from '../../workflows/messages.js';
import type { Candidate, ConsolidateInput, PastDisruption, Refused } from '../../workflows/messages.js';
import { startDisrupt } from './entities.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { candidateOf } from './fixtures.js';
import { cluster, durationOf, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const candidate = (name: string, serial: number): Candidate => candidateOf({ name, uid: `uid-${name}-${serial}` });
const everything = { kind: 'cluster' } as const;

describe('consolidate and disrupt, without replacements', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let a: Candidate;
  let b: Candidate;
  let consolidateId: string;
  let input: ConsolidateInput;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    [a, b] = [candidate('a', activities.serial), candidate('b', activities.serial)];
    consolidateId = workflowIds.consolidate(cluster, [a.claim.uid, b.claim.uid]);
    input = { cluster, reason: 'Empty', candidates: [a, b] };
  });
  afterEach(async () => rig.finish());

  // Rule `commands/validation-delay`.
  test('empty nodes are removed after 15 seconds of validation', async () => {
    const handle = await rig.start('consolidate', consolidateId, input);

    await expect(handle.result()).resolves.toEqual({
      outcome: 'done',
      terminated: ['node-a', 'node-b'],
      savedPerHour: 0.2,
    });
    expect(await durationOf(handle)).toBeGreaterThanOrEqual(15_000);
    expect(activities.callsOf().slice(0, 2)).toEqual(['validateCandidates', 'taintCandidates']);
    expect(activities.inputsOf<{ deleteClaim: boolean }>('beginTermination')).toHaveLength(2);
  });

  // Rule `commands/validation`.
  test('of several empty nodes those that got pods during validation are kept', async () => {
    activities.valid = (candidates) => candidates.filter(({ node }) => node === 'node-a');

    const handle = await rig.start('consolidate', consolidateId, input);

    await expect(handle.result()).resolves.toMatchObject({ terminated: ['node-a'], savedPerHour: 0.1 });
    expect([...activities.tainted]).toEqual([a.claim.uid]);
  });

  test('a command all of whose nodes got pods is abandoned without a taint', async () => {
    activities.valid = () => [];

    const handle = await rig.start('consolidate', consolidateId, input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'abandoned', reason: 'churn' });
    expect(activities.callsOf()).not.toContain('taintCandidates');
  });

  test('a cancelled consolidate leaves no taint', async () => {
    const handle = await rig.start('consolidate', consolidateId, { ...input, paused: true });
    await rig.sleep('20 seconds');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'paused');

    await handle.cancel();

    await expect(handle.result()).rejects.toThrow();
    expect([...activities.tainted]).toEqual([]);
  });

  test('disrupt starts allowed commands, counts their nodes, and forgets them when they are over', async () => {
    activities.found = [{ commands: [{ reason: 'Empty', candidates: [a, b] }] }];

    const handle = await startDisrupt(rig);
    await rig.until(async () => (await handle.query(runningQuery)).length === 1);
    await rig.sleep('60 seconds');
    await rig.until(async () => (await handle.query(runningQuery)).length === 0);

    const child = rig.client.workflow.getHandle(consolidateId);
    await expect(child.result()).resolves.toMatchObject({ outcome: 'done' });
    const views = activities.inputsOf<DisruptionView>('findDisruptions');
    expect(views[0]?.running).toEqual([]);
    const looks = ['syncPauses', 'releaseStrays', 'findDisruptions'];
    expect(
      activities
        .callsOf()
        .filter((name) => looks.includes(name))
        .slice(0, 3),
    ).toEqual(looks);
  });

  test('a restarted disrupt takes over the past disruptions recorded on NodePools (budgets/records)', async () => {
    const now = await rig.now();
    const past: PastDisruption = { nodePool: 'default', reason: 'Drifted', at: now - 1000, nodes: 2 };
    const node = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const why = 'rejected by ann';
    const no: Refused = { reason: 'Underutilized', nodes: [node], saves: 1, why, at: now, until: now + 3_600_000 };
    activities.found = [{ commands: [], held: [], recorded: { pastDisruptions: [past], refused: [no] } }];
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length === 1);
    await rig.until(async () => (await handle.query(refusedQuery)).length === 1);

    await handle.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length === 2);

    const [first, second] = activities.inputsOf<DisruptionView>('findDisruptions');
    expect(first).toMatchObject({ isNew: true });
    expect(second).not.toHaveProperty('isNew');
    expect(second).toMatchObject({ pastDisruptions: [past], refused: [no] });
  });

  test('a disrupt restored from a Temporal backup takes over records written after that (budgets/records)', async () => {
    const now = await rig.now();
    const past = (at: number): PastDisruption => ({ nodePool: 'default', reason: 'Drifted', at, nodes: 1 });
    const node = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const no: Refused = { reason: 'Underutilized', nodes: [node], saves: 1, why: 'rejected by ann', at: now, until: now + 3_600_000 }; // prettier-ignore
    const recorded = { pastDisruptions: [past(now - 2000)], refused: [no], pools: ['default'] };
    activities.found = [
      { commands: [], held: [], recorded: { pastDisruptions: [past(now - 9000)], refused: [] }, recordsVersion: 3 },
      { commands: [], held: [], recorded, recordsVersion: 5 },
    ];
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length === 1);
    for (const times of [2, 3]) {
      await handle.signal(clusterChangedSignal);
      await rig.until(() => activities.callsOf('findDisruptions').length === times);
    }

    const [, second, third] = activities.inputsOf<DisruptionView>('findDisruptions');
    expect(second).toMatchObject({ recordsVersion: 3, pastDisruptions: [past(now - 9000)] });
    expect(third).toMatchObject({ recordsVersion: 5, pastDisruptions: [past(now - 2000)], refused: [no] });
  });

  test('nominated nodes are passed to the decision until the nomination ends', async () => {
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length === 1);
    const until = (await rig.now()) + 20_000;

    await handle.signal(nominatedSignal, [{ node: 'node-a', until }]);
    await handle.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length === 2);
    await rig.sleep('30 seconds');
    await handle.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length === 3);

    const views = activities.inputsOf<DisruptionView>('findDisruptions').map(({ nominations }) => nominations);
    expect(views).toEqual([[], [{ node: 'node-a', until }], []]);
  });

  test('a look that does not end is shown, with what it does and since when, until it ends', async () => {
    let isStuck = true;
    const find = activities.findDisruptions.bind(activities);
    activities.findDisruptions = () =>
      isStuck ? Promise.reject(new Error('the packing thread ended with 1')) : find();
    rig.use(activities.noting());
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length > 0);
    const { phase, facts } = await handle.query(explainQuery);
    expect(phase).toBe('watching');
    expect(facts['busy with']).toMatch(/^searching for nodes to disrupt, since \d{4}-/);

    isStuck = false;
    await rig.until(async () => (await handle.query(explainQuery)).facts['busy with'] === 'nothing');
  });

  test("disrupt looks again when a budget's schedule opens", async () => {
    const opensAt = (await rig.now()) + 120_000;
    activities.found = Array.from({ length: 40 }, () => ({ commands: [], nextCheckAt: opensAt }));
    await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length === 1);

    // Sooner than the slow poll would look.
    await rig.sleep('3 minutes');

    expect(activities.callsOf('findDisruptions').length).toBeGreaterThan(1);
  });

  // Rule `invariants/pauses-hold`.
  test('a pause holds a running consolidation before its next irreversible step, and a resume lets it go on', async () => {
    activities.found = [{ commands: [{ reason: 'Empty', candidates: [a, b] }] }];
    const handle = await startDisrupt(rig);
    await rig.until(async () => (await handle.query(runningQuery)).length === 1);

    await handle.signal(pauseSignal, { scope: everything, reason: 'release', actor: 'me' });
    await rig.sleep('10 minutes');
    const child = rig.client.workflow.getHandle(consolidateId);
    await rig.until(async () => (await child.query(phaseQuery)) === 'paused');
    expect([...activities.tainted]).toEqual([]);
    expect(await handle.query(pausesQuery)).toHaveLength(1);
    await handle.signal(resumeSignal, { scope: everything, actor: 'me' });

    await expect(child.result()).resolves.toMatchObject({ outcome: 'done' });
  });

  test('a consolidation terminated by hand counts against budgets for an hour at most, and its taints are removed', async () => {
    activities.found = [{ commands: [{ reason: 'Empty', candidates: [a, b] }] }];
    const handle = await startDisrupt(rig);
    await rig.until(async () => (await handle.query(runningQuery)).length === 1);
    await handle.signal(pauseSignal, { scope: everything, reason: 'release', actor: 'me' });
    const child = rig.client.workflow.getHandle(consolidateId);
    await rig.sleep('20 seconds');
    await rig.until(async () => (await child.query(phaseQuery)) === 'paused');
    await child.terminate('by hand');
    await rig.sleep('70 minutes');

    await rig.until(async () => (await handle.query(runningQuery)).length === 0);
    await rig.until(() => activities.inputsOf('releaseStrays').length > 1);
    expect(activities.inputsOf('releaseStrays').at(-1)).toEqual({ running: [] });
  });

  describe('steering of evicted pods', () => {
    const workflowId = 'consolidate-by-hand';
    const move = { workflowId, targets: ['node-b'] };
    const steps = (): unknown[] =>
      activities.inputsOf<{ targets: readonly string[]; steered: readonly string[] }>('steerPods');
    const first = { targets: ['node-b'], steered: [] };
    const last = { targets: [], steered: ['node-beside'] };
    const start = async (): Promise<WorkflowHandle> => {
      const handle = await startDisrupt(rig);
      await rig.until(() => activities.callsOf('findDisruptions').length === 1);
      return handle;
    };

    test('lasts as long as the consolidation', async () => {
      const handle = await start();
      expect(steps()).toEqual([]);

      await handle.signal(steerSignal, move);
      await rig.until(() => steps().length === 1);
      await handle.signal(disruptionFinishedSignal, { workflowId });
      await rig.until(() => steps().length === 2);

      expect(steps()).toEqual([first, last]);
    });

    test('of several consolidations goes to the targets of all of them', async () => {
      const handle = await start();

      await handle.signal(steerSignal, move);
      await rig.until(() => steps().length === 1);
      await handle.signal(steerSignal, { workflowId: 'another', targets: ['node-b', 'node-c'] });
      await rig.until(() => steps().length === 2);
      await handle.signal(disruptionFinishedSignal, { workflowId });
      await rig.until(() => steps().length === 3);
      await handle.signal(disruptionFinishedSignal, { workflowId: 'another' });
      await rig.until(() => steps().length === 4);

      const both = { targets: ['node-b', 'node-c'], steered: ['node-beside'] };
      expect(steps()).toEqual([first, both, both, last]);
    });

    test('ends after five minutes where a drain takes longer', async () => {
      const handle = await start();

      await handle.signal(steerSignal, move);
      await rig.until(() => steps().length === 1);
      await rig.sleep('6 minutes');
      await rig.until(() => steps().length === 2);

      expect(steps()).toEqual([first, last]);
    });

    test('is carried over continue-as-new, and clears what an earlier run left', async () => {
      const until = (await rig.now()) + 120_000;
      const steering = { commands: [{ ...move, until }], steered: ['node-beside'] };
      const carried = { nominations: [], pauses: [], running: [], steering };
      await rig.start('disrupt', workflowIds.disrupt(cluster), { cluster, carried });
      await rig.until(() => steps().length === 1 && activities.callsOf('releaseStrays').length > 0);
      expect(activities.inputsOf('releaseStrays')).toEqual([{ running: [], isSteering: true }]);
      await rig.sleep('3 minutes');
      await rig.until(() => steps().length === 2);

      expect(steps()).toEqual([{ ...first, steered: ['node-beside'] }, last]);
    });
  });

  test('a pause with a time to live ends by itself', async () => {
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length === 1);
    const until = (await rig.now()) + 3_600_000;

    await handle.signal(pauseSignal, { scope: everything, reason: 'lunch', actor: 'me', until });
    await rig.sleep('62 minutes');

    await rig.until(async () => (await handle.query(pausesQuery)).length === 0);
  });
});
