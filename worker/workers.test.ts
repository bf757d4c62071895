import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import { compileWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import { createActivityWorld, type ActivityWorld } from '../test/builders/activity-world.js';
import { taskQueues, type TaskQueue } from '../workflows/messages.js';
import { workerOptions } from './workers.js';

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
  test.each(queues)('of %s outlive a process that is stopped for two minutes while a workflow computes', (queue) => {
    const settings = { TEMPORAL_NAMESPACE: 'default', CLOUD_CALLS_PER_SECOND: 10 };
    const options = workerOptions({ ...world.deps, settings, identity: 'test' }, { code: '' }, {})(queue);
    // As the SDK reads them: five seconds where it does not know the option any more.
    expect(compileWorkerOptions(options, logger, noopMetricMeter).isolateExecutionTimeoutMs).toBeGreaterThan(120_000);
  });
});
