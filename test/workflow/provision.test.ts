import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { CreateClaimsInput, PlanNodesInput } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  deletingNodesSignal,
  explainPodUpdate,
  planQuery,
  podsPendingSignal,
  replaceSignal,
} from '../../workflows/messages.js';
import type { ProvisionInput } from '../../workflows/messages.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { cluster, lengthen, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const input: ProvisionInput = { cluster };
const workflowId = workflowIds.provision(cluster);

describe('provision: batches, plans and launches', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let handle: WorkflowHandle;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    handle = await rig.start('provision', workflowId, input);
  });
  afterEach(async () => rig.finish());

  const planned = async (times: number): Promise<void> => {
    await rig.until(() => activities.callsOf('planNodes').length >= times);
  };

  /** Signals pending pods, then lets `ms` pass by the server's clock. */
  const pendThenWait = async (ms: number): Promise<void> => {
    await handle.signal(podsPendingSignal);
    await rig.sleep(ms);
  };

  test('creates claims, starts a launch for each, and waits for the cache to have them before the next plan', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3), claimPlan(2)], pricePerHour: 0.2 }];
    await pendThenWait(1500);
    await rig.until(() => activities.callsOf('launchInstance').length === 2);
    const summary = await rig.until(async () => handle.query(planQuery));
    await pendThenWait(1500);
    await planned(2);

    const [created] = activities.inputsOf<CreateClaimsInput>('createClaims');
    expect(created?.planId).toMatch(/\/1\/0$/);
    expect(activities.inputsOf<PlanNodesInput>('planNodes')[1]?.marks).toEqual([
      { kind: 'NodeClaim', name: 'default-1-0-0', resourceVersion: '1' },
      { kind: 'NodeClaim', name: 'default-1-0-1', resourceVersion: '2' },
    ]);
    expect(summary).toMatchObject({ batch: 1, pricePerHour: 0.2, claims: [{ pods: 3 }, { pods: 2 }] });
  });

  // As many as STOWAGE_LAUNCHES says, such as 2000, which take their time.
  const nodes = Number(process.env['STOWAGE_LAUNCHES'] ?? 25);
  const patience = 120_000 + nodes * 1000;
  test(
    'a plan for hundreds of nodes leaves no child workflows in its history',
    async () => {
      activities.nodeStates = ['initialized'];
      activities.plans = [{ ...emptyPlan, claims: Array.from({ length: nodes }, () => claimPlan(1)) }];
      await pendThenWait(1500);
      await rig.until(() => activities.callsOf('launchInstance').length === nodes);

      const { events } = await handle.fetchHistory();
      const children = (events ?? []).flatMap(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowType?.name ?? [],
      );
      expect(children).toEqual([]);
    },
    patience,
  );

  test('plans again at once where a plan says that more is left', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)], more: true }, emptyPlan];
    await pendThenWait(1500);

    await planned(2);

    expect(activities.callsOf('planNodes')).toHaveLength(2);
  });

  test('plans again at once where a pass deferred pods, from where that pass ended', async () => {
    const resume = { from: 'default/b' };
    activities.plans = [{ ...emptyPlan, deferred: 2, resume }, { ...emptyPlan, deferred: 1 }, emptyPlan];
    await pendThenWait(1500);

    await planned(2);
    await rig.sleep('1 minute');

    const inputs = activities.inputsOf<PlanNodesInput>('planNodes');
    expect(inputs.map((each) => each.resume)).toEqual([undefined, resume]);
    expect(await handle.query(planQuery)).toMatchObject({ batch: 2, deferred: 1 });
    await pendThenWait(1500);
    await planned(3);
    expect(activities.inputsOf<PlanNodesInput>('planNodes')[2]?.resume).toBeUndefined();
  });

  test('waits while the cache is not ready to be planned from', async () => {
    const notReady = { state: 'notReady' as const, reason: 'the cluster cache to catch up' };
    activities.plans = [notReady, notReady, notReady, emptyPlan];
    await pendThenWait(1500);

    await rig.sleep(3000);

    await planned(4);
    // It is one batch, which has not failed.
    expect(await rig.until(() => handle.query(planQuery))).toMatchObject({ batch: 1 });
  });

  test('a NodePool whose claims the API server refuses is left out of the next plan, made at once', async () => {
    const both = { ...emptyPlan, claims: [claimPlan(1)] };
    activities.plans = [both, both];
    activities.claimRefusals = ['admission policy x denied the request'];

    await pendThenWait(1500);
    await planned(2);

    await rig.until(() => activities.callsOf('launchInstance').length === 1);
    expect(activities.inputsOf<PlanNodesInput>('planNodes').map(({ resting }) => resting)).toEqual([
      undefined,
      [expect.objectContaining({ nodePool: 'default', message: 'admission policy x denied the request' })],
    ]);
  });

  test('the pods of refused NodeClaims of one batch add up', async () => {
    const planned = (pod: string) => ({ ...emptyPlan, claims: [{ ...claimPlan(1), pods: [pod] }] });
    activities.plans = [planned('a/p'), planned('a/q'), emptyPlan];
    activities.claimRefusals = ['no', 'no'];

    await pendThenWait(1500);
    await rig.until(() => activities.callsOf('planNodes').length === 3);

    expect(activities.inputsOf<PlanNodesInput>('planNodes').map(({ resting }) => resting?.[0]?.pods)).toEqual([
      undefined,
      ['a/p'],
      ['a/p', 'a/q'],
    ]);
  });

  test('a failing batch is tried again and loses no request for replacements', async () => {
    let failures = 2;
    const plan = activities.planNodes.bind(activities);
    activities.planNodes = () => {
      if (failures-- > 0) throw ApplicationFailure.nonRetryable('what cannot be', 'Invalid');
      return plan();
    };
    await handle.signal(replaceSignal, {
      id: 'r1',
      nodes: ['node-1'],
      replyTo: 'no-such-workflow',
      reason: 'expired',
      holdMs: 60_000,
    });
    await planned(3);

    expect(activities.inputsOf<PlanNodesInput>('planNodes').map(({ without }) => without)).toEqual([
      ['node-1'],
      ['node-1'],
      ['node-1'],
    ]);
    expect((await handle.describe()).status.name).toBe('RUNNING');
  });

  test('replacements are planned at once, counted for the deleting node, and reported to the workflow that asked', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(1)] }, emptyPlan];

    await handle.signal(replaceSignal, {
      id: 'r1',
      nodes: ['node-1'],
      replyTo: 'no-such-workflow',
      reason: 'expired',
      holdMs: 60_000,
    });
    await planned(1);
    await rig.until(() => activities.callsOf('launchInstance').length === 1);
    await pendThenWait(1500);
    await planned(2);
    await rig.sleep('2 minutes');
    await pendThenWait(1500);
    await planned(3);

    expect(activities.inputsOf<PlanNodesInput>('planNodes').map(({ without }) => without)).toEqual([
      ['node-1'],
      ['node-1'],
      [],
    ]);
    expect(activities.inputsOf<CreateClaimsInput>('createClaims')[0]?.reason).toBe('expired');
  });

  test('deleting nodes are given back by the request that reported them, planned or not, and by no other (commands/given-back)', async () => {
    const asked = { nodes: ['node-1'], replyTo: 'no-such-workflow', reason: 'expired', holdMs: 3_600_000 };
    const release = (request: string): Promise<void> =>
      handle.signal(deletingNodesSignal, { nodes: ['node-1'], until: 0, marks: [], request });
    let ready = false;
    activities.planNodes = () => Promise.resolve(ready ? emptyPlan : { state: 'notReady', reason: 'not yet' });
    await pendThenWait(1500);
    await planned(1);
    // Neither is planned yet: a batch is being tried that knows of none.
    await handle.signal(replaceSignal, { id: 'r1', ...asked });
    await handle.signal(replaceSignal, { id: 'r2', ...asked });
    await release('r1');
    ready = true;
    const without = () => activities.inputsOf<PlanNodesInput>('planNodes').at(-1)?.without;
    await rig.sleep('2 minutes');
    await rig.until(() => without()?.length === 1);

    await release('r2');
    await pendThenWait(1500);

    await rig.until(() => without()?.length === 0);
  });

  // Rules `invariants/failures-are-contained`, `commands/given-back`.
  test('a batch that is stuck is abandoned before its history grows too long: a new run begins it again with all requests', async () => {
    const planNodes = activities.planNodes.bind(activities);
    activities.planNodes = async () => {
      const isStuck = activities.callsOf('planNodes').length === 1;
      // A heartbeat learns that the attempt is over.
      const beats = setInterval(() => Context.current().heartbeat(), 200);
      try {
        if (isStuck) await Context.current().cancelled;
        return await planNodes();
      } finally {
        clearInterval(beats);
      }
    };
    await handle.signal(replaceSignal, {
      ...{ id: 'r', nodes: ['node-a'], replyTo: workflowId, reason: 'drifted', holdMs: 3_600_000 },
    });
    await planned(1);

    await lengthen(rig, handle, podsPendingSignal, 6000);

    await planned(2);
    expect(activities.inputsOf<PlanNodesInput>('planNodes').at(-1)!.without).toEqual(['node-a']);
    expect((await handle.describe()).historyLength).toBeLessThan(1000);
  });

  test('explains a pod in an update, without planning a batch; a pod without a name is refused', async () => {
    const ask = async (pod: object): Promise<unknown> =>
      handle.executeUpdate(explainPodUpdate, { args: [pod as { namespace: string; name: string }] });

    expect(await ask({ namespace: 'default', name: 'a' })).toMatchObject({ why: 'no state yet' });
    await expect(ask({ namespace: 'default' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('name is missing: give a text') },
    });
    expect(activities.callsOf().filter((call) => ['explainPod', 'planNodes'].includes(call))).toEqual(['explainPod']);
  });

  test('continues as new when updates alone fill its history', async () => {
    const { runId } = await handle.describe();
    const pod = { namespace: 'default', name: 'a' };
    const ask = async (): Promise<unknown> => handle.executeUpdate(explainPodUpdate, { args: [pod] });
    while ((await handle.describe()).runId === runId) {
      await Promise.allSettled(Array.from({ length: 8 }, ask));
    }

    expect(await ask()).toMatchObject({ why: 'no state yet' });
    expect(activities.callsOf('planNodes')).toEqual([]);
  });
});
