import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { CreateClaimsInput, PlanNodesInput } from '../../activities/contract.js';
import { workflowIds } from '../../core/ids.js';
import { planQuery, podsPendingSignal, replaceSignal } from '../../workflows/messages.js';
import type { ProvisionInput } from '../../workflows/messages.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { cluster, WorkflowRig } from './rig.js';

const input: ProvisionInput = { cluster, window: { idleMs: 1000, maxMs: 10_000 } };
const workflowId = workflowIds.provision(cluster);

describe('provision', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let handle: WorkflowHandle;

  beforeAll(async () => {
    rig = await WorkflowRig.start(activityNames);
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

  /** Signals a pod, then lets `ms` pass by the server's clock. */
  const pendThenWait = async (uid: string, ms: number): Promise<void> => {
    await handle.signal(podsPendingSignal, [uid]);
    await rig.env.sleep(ms);
  };

  test('a batch closes one second after the last new pod', async () => {
    await pendThenWait('a', 500);
    await pendThenWait('b', 500);
    expect(activities.callsOf('planNodes')).toHaveLength(0);

    await rig.env.sleep(1000);

    await planned(1);
    expect(activities.callsOf('planNodes')).toHaveLength(1);
  });

  test('pods that keep coming close the batch after ten seconds', async () => {
    for (let i = 0; i < 10; i++) await pendThenWait(`pod-${i}`, 500);
    expect(activities.callsOf('planNodes')).toHaveLength(0);

    for (let i = 10; i < 20; i++) await pendThenWait(`pod-${i}`, 500);

    await planned(1);
  });

  test('a pod that is told twice does not extend the window', async () => {
    await pendThenWait('a', 700);
    await pendThenWait('a', 700);

    await planned(1);
  });

  test('creates claims, starts a launch for each, and has the cache catch up before the next plan', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3), claimPlan(2)], pricePerHour: 0.2 }];
    await pendThenWait('a', 1500);
    await rig.until(() => activities.callsOf('launchInstance').length === 2);
    const summary = await rig.until(async () => handle.query(planQuery));
    await pendThenWait('b', 1500);
    await planned(2);

    const [created] = activities.inputsOf<CreateClaimsInput>('createClaims');
    expect(created?.planId).toMatch(/\/1\/0$/);
    expect(activities.inputsOf<PlanNodesInput>('planNodes')[1]?.marks).toEqual([
      { kind: 'NodeClaim', name: 'default-1-0-0', resourceVersion: '1' },
      { kind: 'NodeClaim', name: 'default-1-0-1', resourceVersion: '2' },
    ]);
    expect(summary).toMatchObject({ batch: 1, pricePerHour: 0.2, claims: [{ pods: 3 }, { pods: 2 }] });
  });

  test('plans again at once while a plan is larger than a pass', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)], more: true }, emptyPlan];
    await pendThenWait('a', 1500);

    await planned(2);

    expect(activities.callsOf('planNodes')).toHaveLength(2);
  });

  test('waits while the cluster is not ready to be planned', async () => {
    activities.plans = [{ state: 'notReady', reason: 'NodeClaim x to get its instance' }, emptyPlan];
    await pendThenWait('a', 1500);

    await rig.env.sleep(2000);

    await planned(2);
  });

  test('replacements are planned at once, kept for the leaving node, and told of', async () => {
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(1)] }, emptyPlan];

    await handle.signal(replaceSignal, {
      id: 'r1',
      nodes: ['node-1'],
      replyTo: 'nobody',
      reason: 'expired',
      holdMs: 60_000,
    });
    await planned(1);
    await rig.until(() => activities.callsOf('launchInstance').length === 1);
    await pendThenWait('a', 1500);
    await planned(2);
    await rig.env.sleep('2 minutes');
    await pendThenWait('b', 1500);
    await planned(3);

    expect(activities.inputsOf<PlanNodesInput>('planNodes').map(({ without }) => without)).toEqual([
      ['node-1'],
      ['node-1'],
      [],
    ]);
    expect(activities.inputsOf<CreateClaimsInput>('createClaims')[0]?.reason).toBe('expired');
  });
});
