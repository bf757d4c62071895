import { expect, test } from 'vitest';
import fc from 'fast-check';
import type { Client } from '@temporalio/client';
import { startOptions, taskQueues } from '../../workflows/messages.js';
import { chosen, observeQueues } from './observe-engine.js';

test('every open workflow is looked at in turn, whoever runs longest or fails besides', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(50), (count, turn) => {
      const all = Array.from({ length: count }, (_, n) => `w${n}`);
      const looked = new Set<string>();
      for (let look = 0; look * 20 < count + 20; look++) {
        const ids = chosen({ failing: ['f'], oldest: all.slice(0, 50), all, turn: turn + look });
        expect(ids.length).toBeLessThanOrEqual(41);
        expect(ids).toEqual(expect.arrayContaining(['f', ...all.slice(0, 20)]));
        for (const id of ids) looked.add(id);
      }
      expect(all.filter((id) => !looked.has(id))).toEqual([]);
    }),
  );
});

test('every queue in which workflows start is looked at for workers that take workflow tasks', async () => {
  const client = {
    options: { namespace: 'default' },
    workflowService: { describeTaskQueue: () => Promise.resolve({ pollers: [], stats: {} }) },
  } as unknown as Client;

  const observed = await observeQueues(client, 'c');

  const workflowQueues = observed.filter(({ tasks }) => tasks === 'workflow').map(({ name }) => name);
  const started = ['provision', 'launchNode', 'terminateNode', 'handleInterruption'].map(
    (type) => startOptions('c', type).taskQueue,
  );
  expect(new Set(workflowQueues)).toEqual(new Set(started));
  const activityQueues = observed.filter(({ tasks }) => tasks === 'activity').map(({ name }) => name);
  expect(new Set(activityQueues)).toEqual(new Set(Object.values(taskQueues('c'))));
});
