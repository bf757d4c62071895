import { expect, test } from '@jest/globals';
import { keep, renew } from './backup.js';
import { Run } from './run.js';

const start = { workflowId: 'provision', runId: 'run-1', workflowType: 'provision', taskQueue: 'control', args: [] };

test('a Temporal backup keeps the jobs of a workflow task that is not completed, before later jobs', () => {
  const run = new Run(start as unknown as Run['start']);
  run.taskJobs = [{ resolveActivity: { seq: 1 } }];
  run.jobs = [{ fireTimer: { seq: 2 } }];
  const restored = renew(keep(run, []));
  expect(restored.jobs).toEqual([{ resolveActivity: { seq: 1 } }, { fireTimer: { seq: 2 } }]);
  expect(restored.taskJobs).toEqual([]);
});
