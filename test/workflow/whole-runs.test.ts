import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SignalDefinition, WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import {
  clusterChangedSignal,
  offeringsRefusedSignal,
  podsPendingSignal,
  replicasChangedSignal,
  unavailableOfferingsQuery,
} from '../../workflows/messages.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { cluster, lengthen, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

/** Rounds of work before the run is filled by signals alone. */
const rounds = 25;

// Workflows from their first event to their last: entities up to where they continue as new, savings over a day. On a server their histories
// are recorded for test/replay, as `finish` of the rig replays them here.
describe('entity workflows over continue-as-new', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    activities = new FakeActivities();
    rig.use(activities.noting());
  });
  afterEach(async () => rig.finish());

  /** Works, is flooded until its run is full, and goes on in the next. */
  async function wholeRunOf(
    handle: WorkflowHandle,
    signal: SignalDefinition,
    round: (n: number) => void = () => undefined,
  ): Promise<void> {
    const { runId } = await handle.describe();
    for (let n = 0; n < rounds; n++) {
      round(n);
      await handle.signal(signal);
      await rig.sleep('3 seconds');
    }
    await lengthen(rig, handle, signal, wholeRun);
    expect((await handle.describe()).runId).not.toBe(runId);
  }

  test('provision plans, launches, and continues as new', async () => {
    activities.nodeStates = ['initialized'];
    const handle = await rig.start('provision', workflowIds.provision(cluster), { cluster });
    await wholeRunOf(handle, podsPendingSignal, (n) => {
      activities.plans = [{ ...emptyPlan, claims: n % 5 === 0 ? [claimPlan(1)] : [] }];
    });
  });

  test('disrupt looks, and continues as new', async () => {
    const handle = await rig.start('disrupt', workflowIds.disrupt(cluster), { cluster });
    await wholeRunOf(handle, clusterChangedSignal);
  });

  test('keepReplicas reads its NodePool, and continues as new', async () => {
    const poolUid = `pool-${activities.serial}`;
    activities.replicas = () => ({
      ...{ state: 'live', replicas: 0, running: 0, pending: 0, deleting: [], create: [], typeLists: [], remove: [] },
    });
    const input = { cluster, nodePool: 'static', poolUid };
    const handle = await rig.start('keepReplicas', workflowIds.replicas(cluster, poolUid), input);
    await wholeRunOf(handle, replicasChangedSignal);
  });

  test('offerings keeps unavailable offerings, and continues as new', async () => {
    const handle = await rig.start('offerings', workflowIds.offerings(cluster), { cluster });
    const refused = {
      instanceType: 'm5.large',
      zone: 'a',
      capacityType: 'spot',
      reason: 'InsufficientInstanceCapacity',
    };
    const { runId } = await handle.describe();
    const run = rig.client.workflow.getHandle(handle.workflowId, runId);
    for (let length = 0; length < wholeRun; length = (await run.describe()).historyLength) {
      await Promise.allSettled(Array.from({ length: 100 }, async () => run.signal(offeringsRefusedSignal, [refused])));
    }
    await rig.until(async () => (await handle.describe()).runId !== runId);
    expect(await handle.query(unavailableOfferingsQuery)).toHaveLength(1);
  });

  test('savings are measured an hour and a day after the command', async () => {
    const command = {
      ...{ id: 'c', reason: 'Empty', finishedAt: await rig.now(), nodes: ['node-1'], nodePools: ['default'] },
      ...{ priceBefore: 1, priceAfter: 0, podsMoved: 0, replacements: [] },
    };
    const id = workflowIds.savings(cluster, `whole-${activities.serial}`);
    const handle = await rig.start('measureSavings', id, { cluster, command });
    expect(await handle.result()).toMatchObject({ measured: [{ afterMs: 3_600_000 }, { afterMs: 86_400_000 }] });
  });
});
