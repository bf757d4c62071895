import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import proto from '@temporalio/proto';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { workflowSources } from '../../worker/bundle.js';

jest.setTimeout(120_000);

const folder = join(dirname(fileURLToPath(import.meta.url)), 'histories');
const expected = JSON.parse(readFileSync(join(folder, 'expected-counts.json'), 'utf8')) as Record<string, number>;

const recorded = (type: string): string[] =>
  readdirSync(join(folder, type), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.bin.gz'));

// Histories of a real server, as running workflows have them when a new build takes over (test/replay/record.mjs).
describe('recorded histories', () => {
  let workflowBundle: WorkflowBundleWithSourceMap;

  beforeAll(async () => {
    const logger = new DefaultLogger('ERROR');
    Runtime.install({ logger });
    workflowBundle = await bundleWorkflowCode({ ...workflowSources(), logger });
  });

  test.each(Object.entries(expected))('%s: %d histories replay', async (type, count) => {
    const files = recorded(type);
    expect(files).toHaveLength(count);
    const histories = files.map((file) => {
      const bytes = gunzipSync(readFileSync(join(folder, type, file)));
      const history = proto.temporal.api.history.v1.History.decode(bytes);
      // Answers that a workflow waits for name it by its id.
      const id = history.events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
      return { workflowId: id === '' ? file : id, history };
    });

    const failed: string[] = [];
    for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
      if (error !== undefined) failed.push(`${workflowId}: ${error.message}`);
    }

    expect(failed).toEqual([]);
  });
});
