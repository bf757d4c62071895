import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { unavailableMs } from '../../core/unavailable-offerings.js';
import {
  offeringsRefusedSignal,
  offeringSucceededSignal,
  taskQueues,
  unavailableOfferingsQuery,
} from '../../workflows/messages.js';
import { cluster, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

let rig: WorkflowRig;

beforeAll(async () => {
  rig = await startRig(['ensureEntity']);
});
afterEach(() => rig.finish());
afterAll(() => rig.close());

const refused = (instanceType: string) => ({
  instanceType,
  zone: 'a',
  capacityType: 'spot',
  reason: 'InsufficientInstanceCapacity',
});

test('an unavailable offering has its timer: available again after three minutes, later when refused again, forgotten after long without refusal', async () => {
  const workflowId = workflowIds.offerings(cluster);
  const started = await rig.client.workflow.signalWithStart('offerings', {
    workflowId,
    taskQueue: taskQueues(cluster).control,
    args: [{ cluster }],
    signal: offeringsRefusedSignal,
    signalArgs: [[refused('m5.large'), refused('c5.large')]],
  });
  rig.track(workflowId, started.signaledRunId);
  const handle = rig.client.workflow.getHandle(workflowId);
  const begin = await rig.now();
  const first = await rig.until(async () => {
    const all = await handle.query(unavailableOfferingsQuery);
    return all.length === 2 ? all : undefined;
  });
  for (const { until } of first) expect(until - begin).toBeLessThanOrEqual(unavailableMs + 5000);

  await handle.signal(offeringSucceededSignal, { instanceType: 'c5.large', zone: 'a', capacityType: 'spot' });
  await rig.sleep(unavailableMs + 1000);
  const open = await handle.query(unavailableOfferingsQuery);
  expect(open.map(({ instanceType }) => instanceType)).toEqual(['m5.large']);
  expect(open[0]!.until).toBeLessThanOrEqual(await rig.now());

  await handle.signal(offeringsRefusedSignal, [refused('m5.large')]);
  const again = await rig.until(async () => {
    const [one] = await handle.query(unavailableOfferingsQuery);
    return one !== undefined && one.forMs === 2 * unavailableMs ? one : undefined;
  });
  expect(again.until).toBeGreaterThan((await rig.now()) + unavailableMs);

  await handle.result();
  expect(await handle.query(unavailableOfferingsQuery)).toEqual([]);
});

test('unavailable offerings of a whole region are carried over continue-as-new', async () => {
  const workflowId = workflowIds.offerings(cluster);
  const until = (await rig.now()) + 4 * unavailableMs;
  const carried = Array.from({ length: 4800 }, (_, i) => ({ ...refused(`type-${i}`), until, forMs: unavailableMs }));
  const { runId } = await (await rig.start('offerings', workflowId, { cluster, carried })).describe();
  const handle = rig.client.workflow.getHandle(workflowId);

  await rig.until(async () => {
    await handle.signal(offeringsRefusedSignal, [refused('type-0')]);
    return (await handle.describe()).runId !== runId;
  });

  expect(await handle.query(unavailableOfferingsQuery)).toHaveLength(carried.length);
  await handle.terminate();
});
