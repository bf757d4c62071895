import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { PlanNodesInput } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import { interruptionSignal, phaseQuery, podsPendingSignal } from '../../workflows/messages.js';
import type { ClaimRef, ReplaceNodeResult } from '../../workflows/messages.js';
import { startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { knownInstance } from './fixtures.js';
import { cluster, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

describe('replaceNode and interruptions on provision', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let claim: ClaimRef;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    claim = { name: 'default-old', uid: `uid-old-${activities.serial}` };
    await startProvision(rig);
  });
  afterEach(async () => rig.finish());

  const interrupt = async (kind: string): ReturnType<WorkflowRig['start']> => {
    const handle = await rig.start('handleInterruption', workflowIds.interrupt(cluster, 'i-1'), {
      cluster,
      instanceId: 'i-1',
    });
    await handle.signal(interruptionSignal, { kind, instanceId: 'i-1', at: await rig.now(), messageId: kind });
    return handle;
  };

  // Rule `interruption/replaced-first`.
  test('a spot interruption notice launches the replacement first, then drains in time', async () => {
    activities.instance = knownInstance(claim);
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];

    const handle = await interrupt('spot_interrupted');

    const result = await handle.result();
    expect(result).toMatchObject({ outcome: 'drained', replacements: ['default-1-0-0'] });
    expect(result.secondsToSpare).toBeGreaterThan(90);
    const order = activities.callsOf().filter((name) => ['launchInstance', 'drainNode'].includes(name));
    expect(order).toEqual(['launchInstance', 'drainNode']);
    expect([...activities.tainted]).toEqual([claim.uid]);
  });

  test("a late replacement does not delay the drain beyond the time that the pods' grace periods need", async () => {
    activities.instance = knownInstance(claim);
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    activities.nodeStates = ['waiting'];

    const handle = await interrupt('spot_interrupted');

    const result = await handle.result();
    expect(result.outcome).toBe('drained');
    expect(result.secondsToSpare).toBeGreaterThanOrEqual(30);
    expect(result.secondsToSpare).toBeLessThanOrEqual(60);
  });

  test('a rebalance recommendation is only recorded, and a notice for an unknown instance is ignored', async () => {
    activities.instance = knownInstance(claim);
    await expect((await interrupt('rebalance_recommendation')).result()).resolves.toMatchObject({ outcome: 'noted' });
    activities.instance = { state: 'unknown' };
    await expect((await interrupt('spot_interrupted')).result()).resolves.toMatchObject({
      outcome: 'unknown-instance',
    });
    expect(activities.callsOf()).not.toContain('drainNode');
  });

  test('nodes replaced in one batch wait for their own new node, and for the one that they share', async () => {
    activities.view = { state: 'live', registered: true, initialized: true, providerId: 'x', nodeName: 'node-old' };
    const nodes = ['node-a', 'node-b'];
    let bothAsked = false;
    const of = (node: string, claims: number[]) => ({ node, claims, coming: [], unplaced: 0 });
    activities.planNodes = () => {
      // The first batch holds up both requests, so that the second takes them together.
      if (!bothAsked) return Promise.resolve({ state: 'notReady', reason: 'both requests' });
      const asked = activities.inputsOf<PlanNodesInput>('planNodes').at(-1)?.without ?? [];
      if (asked.length < 2) return Promise.resolve(emptyPlan);
      const claims = [claimPlan(1), claimPlan(2)];
      return Promise.resolve({ ...emptyPlan, claims, deleting: [of('node-a', [0, 1]), of('node-b', [1])] });
    };
    await rig.client.workflow.getHandle(workflowIds.provision(cluster)).signal(podsPendingSignal);
    await rig.sleep(1500);
    await rig.until(() => activities.callsOf('planNodes').length > 0);

    const handles = [];
    for (const node of nodes) {
      const uid = `${claim.uid}-${node}`;
      const candidate = { claim: { name: node, uid }, node, nodePool: 'default' };
      const args = { cluster, reason: 'Drifted', candidate, withinMs: 3_600_000 };
      handles.push(await rig.start('replaceNode', workflowIds.replace(cluster, uid), args));
    }
    await rig.until(() => activities.callsOf('taintCandidates').length === 2);
    for (const handle of handles) await rig.until(async () => (await handle.query(phaseQuery)) === 'replacing');
    bothAsked = true;

    const results: ReplaceNodeResult[] = [];
    for (const handle of handles) results.push((await handle.result()) as ReplaceNodeResult);
    // How many batches were held up before is of no matter.
    const named = (end: string): unknown =>
      expect.objectContaining({ name: expect.stringMatching(`^default-\\d+${end}$`) });
    expect(results[0]).toMatchObject({ outcome: 'replaced', replacements: [named('-0-0'), named('-0-1')] });
    expect(results[1]).toMatchObject({ outcome: 'replaced', replacements: [results[0]!.replacements[1]] });
    // The launches signal the result: no claim is polled.
    const looked = activities.inputsOf<{ claim: ClaimRef }>('viewClaim').map(({ claim: { name } }) => name);
    expect(looked.sort()).toEqual(nodes);
  });

  test('a replacement that was already launching is found by looking, without its signals', async () => {
    activities.view = { state: 'live', registered: true, initialized: true, providerId: 'x', nodeName: 'node-old' };
    const coming = { name: 'earlier', uid: `uid-earlier-${activities.serial}` };
    activities.plans = [{ ...emptyPlan, deleting: [{ node: 'node-a', claims: [], coming: [coming], unplaced: 0 }] }];
    const candidate = { claim, node: 'node-a', nodePool: 'default' };

    const handle = await rig.start('replaceNode', workflowIds.replace(cluster, claim.uid), {
      cluster,
      reason: 'Drifted',
      candidate,
      withinMs: 3_600_000,
    });

    await expect(handle.result()).resolves.toEqual({ outcome: 'replaced', replacements: [coming] });
    const order = activities.callsOf().filter((name) => ['viewClaim', 'drainNode'].includes(name));
    expect(order).toEqual(['viewClaim', 'viewClaim', 'drainNode']);
  });

  test("a replacement that cannot be launched fails with the cloud's message", async () => {
    activities.plans = [
      { ...emptyPlan, deleting: [{ node: 'node-a', claims: [0], coming: [], unplaced: 0 }], claims: [claimPlan(3)] },
    ];
    activities.refusal = { reason: 'insufficient_capacity', message: 'VcpuLimitExceeded' };
    const candidate = { claim, node: 'node-a', nodePool: 'default' };
    const input = { cluster, reason: 'Drifted', candidate, withinMs: 3_600_000 };
    const handle = await rig.start('replaceNode', workflowIds.replace(cluster, claim.uid), input);

    const reason = expect.stringMatching(/^replacement default-\S+ did not become ready: VcpuLimitExceeded$/);
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'failed', reason });
    expect([...activities.tainted]).toEqual([]);
  });

  // Rule `invariants/pauses-hold`.
  test('a pause that the API server has when the claim is to be deleted keeps it, and untaints the node until it is over', async () => {
    const candidate = { claim, node: 'node-a', nodePool: 'default' };
    activities.plans = [{ ...emptyPlan, deleting: [{ node: 'node-a', claims: [], coming: [], unplaced: 0 }] }];
    activities.pausedDeletions = ['node node-a is paused by ann: release'];
    const input = { cluster, reason: 'Drifted', candidate, withinMs: 3_600_000 };
    const handle = await rig.start('replaceNode', workflowIds.replace(cluster, claim.uid), input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(activities.callsOf('untaintCandidates')).toHaveLength(1);
    const paused = activities.inputsOf<{ unlessPaused: object }>('beginTermination').map((each) => each.unlessPaused);
    expect(paused).toEqual([1, 2].map(() => ({ reason: 'Drifted', node: 'node-a', nodePool: 'default' })));
  });

  // Rule `commands/refused-deletions`.
  test('a node whose NodeClaim the API server refuses to delete is untainted, and the rollout gets the failure', async () => {
    const candidate = { claim, node: 'node-a', nodePool: 'default' };
    activities.plans = [{ ...emptyPlan, deleting: [{ node: 'node-a', claims: [], coming: [], unplaced: 0 }] }];
    activities.deletionsRefused.set(claim.name, 'policy says no');
    const input = { cluster, reason: 'Drifted', candidate, withinMs: 3_600_000 };
    const handle = await rig.start('replaceNode', workflowIds.replace(cluster, claim.uid), input);

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'failed', reason: 'policy says no' });
    expect([...activities.tainted]).toEqual([]);
  });
});
