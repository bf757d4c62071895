import { expect, test } from 'vitest';
import { lastRuns } from './last-runs.js';

async function* listed(...ids: readonly string[]) {
  for (const [run, workflowId] of ids.entries()) yield await Promise.resolve({ workflowId, run });
}

async function read<T>(all: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const each of all) found.push(each);
  return found;
}

test('why: of a workflow started again and again only the last run is shown, and it hides no other workflow', async () => {
  const again = Array.from({ length: 100 }, () => 'terminate');

  expect(await read(lastRuns(listed(...again, 'launch', 'terminate')))).toEqual([
    { workflowId: 'terminate', run: 0 },
    { workflowId: 'launch', run: 100 },
  ]);
});

test('why: an endless list is read in part', async () => {
  async function* endless() {
    for (;;) yield await Promise.resolve({ workflowId: 'terminate' });
  }

  expect(await read(lastRuns(endless()))).toHaveLength(1);
});
