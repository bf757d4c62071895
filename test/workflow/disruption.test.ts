import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowIds } from '../../core/ids.js';
import { explainQuery, pauseSignal, phaseQuery, resumeSignal, runningQuery } from '../../workflows/messages.js';
import type { Candidate, ConsolidateInput } from '../../workflows/messages.js';
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
    activities.pauses = [{ scope: everything, reason: 'release', actor: 'me' }];
    const handle = await rig.start('consolidate', consolidateId, input);
    await rig.sleep('20 seconds');
    await rig.until(async () => (await handle.query(phaseQuery)) === 'waiting for its turn');

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
    // Without another search.
    expect((await handle.query(explainQuery)).facts['commands']).toBe(0);

    const child = rig.client.workflow.getHandle(consolidateId);
    await expect(child.result()).resolves.toMatchObject({ outcome: 'done' });
    const views = activities.inputsOf<DisruptionView>('findDisruptions');
    expect(views[0]?.commands).toEqual([]);
  });

  test('a look that does not end is shown, with what it does and since when, until it ends', async () => {
    let isStuck = true;
    const find = activities.findDisruptions.bind(activities);
    activities.findDisruptions = (input) =>
      isStuck ? Promise.reject(new Error('the packing thread ended with 1')) : find(input);
    rig.use(activities.noting());
    const handle = await startDisrupt(rig);
    await rig.until(() => activities.callsOf('findDisruptions').length > 0);
    const { phase, waitingFor } = await handle.query(explainQuery);
    expect(phase).toBe('searching');
    expect(waitingFor).toMatch(/^a search that began at \d{4}-/);

    isStuck = false;
    await rig.until(async () => (await handle.query(phaseQuery)) === 'watching');
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
  test('a pause by signal stops a running command before its next irreversible step, and a resume lets it go on', async () => {
    activities.found = [{ commands: [{ reason: 'Empty', candidates: [a, b] }] }];
    const handle = await startDisrupt(rig);
    await rig.until(async () => (await handle.query(runningQuery)).length === 1);

    await handle.signal(pauseSignal, { scope: everything, reason: 'release', actor: 'me' });
    await rig.sleep('10 minutes');
    const child = rig.client.workflow.getHandle(consolidateId);
    await rig.until(async () => (await child.query(phaseQuery)) === 'waiting for its turn');
    expect([...activities.tainted]).toEqual([]);
    await handle.signal(resumeSignal, { scope: everything, actor: 'me' });

    await expect(child.result()).resolves.toMatchObject({ outcome: 'done' });
  });
});
