import { expect, test } from 'vitest';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createMetrics } from '../process/metrics.js';
import { measuring } from './activity-metrics.js';

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
