import { beforeAll, describe, expect, test } from '@jest/globals';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { History } from '@temporalio/worker';
import * as workflows from '../../workflows/index.js';
import { testBundle } from '../workflow/bundle.js';
import { expectedCounts, recordedHistories, recordedTypes, versionsOf } from './history-folder.mjs';

const workflowIdOf = ({ events }: History): string =>
  events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';

// Histories of a real server, as running workflows have them when a new build takes over (test/replay/record.mjs).
describe('recorded workflow histories', () => {
  let workflowBundle: { readonly code: string };

  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    workflowBundle = await testBundle();
  });

  test('exist for every workflow type, and for nothing else', () => {
    expect([...recordedTypes()].sort()).toEqual(Object.keys(workflows).sort());
  });

  test.each(recordedTypes())('of %s are each of a release', (type) => {
    expect(versionsOf(type)).not.toEqual([]);
    for (const version of versionsOf(type)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test.each(Object.entries(expectedCounts()))('of %s: %d replay with the present code', async (type, count) => {
    const recorded = recordedHistories(type);
    expect(recorded).toHaveLength(count);
    const histories = recorded.map(({ history }) => ({ workflowId: workflowIdOf(history), history }));
    // Answers that a workflow waits for name it by its id: under another one it would ignore them, and not replay.
    expect(histories.map(({ workflowId }) => workflowId)).not.toContain('');

    const failed: string[] = [];
    for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
      if (error !== undefined) failed.push(`${workflowId}: ${error.message}`);
    }

    expect(failed).toEqual([]);
  });
});
