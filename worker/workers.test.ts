import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import { compileWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import { createActivityWorld, type ActivityWorld } from '../test/builders/activity-world.js';
import { taskQueues, type TaskQueue } from '../workflows/messages.js';
import { workerOptions, measuring } from './workers.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createMetrics } from '../process/metrics.js';

let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
});

afterEach(() => {
  world.stop();
});

const queues = Object.keys(taskQueues('test')) as TaskQueue[];
const logger = new DefaultLogger('ERROR');

describe('workers', () => {
  test.each(queues)('of %s survive a process that is stopped for two minutes while a workflow runs', (queue) => {
    const settings = { TEMPORAL_NAMESPACE: 'default', CLOUD_CALLS_PER_SECOND: 10 };
    const options = workerOptions({ ...world.deps, settings, identity: 'test' }, { code: '' }, {})(queue);
    // As the SDK reads them: five seconds where it does not know the option any more.
    expect(compileWorkerOptions(options, logger, noopMetricMeter).isolateExecutionTimeoutMs).toBeGreaterThan(120_000);
  });
});

test('activities are measured as reconciliations (metrics/reconciliations)', async () => {
  const metrics = createMetrics();
  let now = 0;
  const run = (activity: () => Promise<string>): Promise<string> =>
    new MockActivityEnvironment({ activityType: 'createFleet' }, { interceptors: [measuring(metrics, () => now)] }).run(
      activity,
    );

  const answered = await run(() => {
    now += 2500;
    return Promise.resolve('done');
  });
  const failed = run(() => Promise.reject(new Error('no')));

  expect(answered).toBe('done');
  await expect(failed).rejects.toThrow('no');
  const text = await metrics.registry.metrics();
  for (const line of [
    'controller_runtime_reconcile_total{controller="createFleet",result="success"} 1',
    'controller_runtime_reconcile_total{controller="createFleet",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="createFleet"} 1',
    'controller_runtime_reconcile_time_seconds_count{controller="createFleet"} 2',
    'controller_runtime_reconcile_time_seconds_sum{controller="createFleet"} 2.5',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});
