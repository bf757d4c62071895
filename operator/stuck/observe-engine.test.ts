import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Client } from '@temporalio/client';
import { startOptions, taskQueues } from '../../workflows/messages.js';
import { chosen, noMemory, observeEngine, observeQueues } from './observe-engine.js';

test('the observer describes every open workflow in turn, also beside long-running and failing ones', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(50), fc.constantFrom(4, 20), (count, turn, mostInTurn) => {
      const all = Array.from({ length: count }, (_, n) => `w${n}`);
      const looked = new Set<string>();
      for (let look = 0; look * mostInTurn < count + mostInTurn; look++) {
        const ids = chosen({ failing: ['f'], oldest: all.slice(0, 50), all, turn: turn + look, mostInTurn });
        expect(ids.length).toBeLessThanOrEqual(21 + mostInTurn);
        expect(ids).toEqual(expect.arrayContaining(['f', ...all.slice(0, 20)]));
        for (const id of ids) looked.add(id);
      }
      expect(all.filter((id) => !looked.has(id))).toEqual([]);
    }),
  );
});

test('the observer checks workflow pollers on every queue in which workflows start', async () => {
  const client = {
    options: { namespace: 'default' },
    workflowService: { describeTaskQueue: () => Promise.resolve({ pollers: [], stats: {} }) },
  } as unknown as Client;

  const observed = await observeQueues(client, 'c');

  const workflowQueues = observed.filter(({ tasks }) => tasks === 'workflow').map(({ name }) => name);
  const started = ['provision', 'launchNode', 'terminateNode', 'handleInterruption'].map(
    (type) => startOptions(type, { cluster: 'c' }, { namespace: 'default' }).taskQueue,
  );
  expect(new Set(workflowQueues)).toEqual(new Set(started));
  const activityQueues = observed.filter(({ tasks }) => tasks === 'activity').map(({ name }) => name);
  expect(new Set(activityQueues)).toEqual(new Set(Object.values(taskQueues('c'))));
});

test('a workflow is queried for its failure once for each state of its history', async () => {
  const entity = { historyLength: 10, why: 'no instance types', phase: 'idle' };
  let asked = 0;
  const described = (workflowId: string): object => ({
    ...{ workflowId, runId: 'run', type: workflowId.split('/')[1], status: { name: 'RUNNING' }, raw: {} },
    historyLength: entity.historyLength,
    taskQueue: taskQueues('c').control,
    typedSearchAttributes: { get: () => entity.phase },
    memo: { leftOut: 'NodePool bad' },
  });
  const handle = (workflowId: string): object => ({
    describe: () => Promise.resolve(described(workflowId)),
    query: () => {
      asked += 1;
      return Promise.resolve({ facts: {}, failing: { since: '2026-01-05T12:00:00Z', why: entity.why } });
    },
  });
  const client = {
    options: { namespace: 'default' },
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: { list: async function* () {}, getHandle: handle },
    workflowService: { describeTaskQueue: () => Promise.resolve({ pollers: [], stats: {} }) },
  } as unknown as Client;
  const memory = noMemory();
  const look = async (): Promise<(string | undefined)[]> =>
    (await observeEngine(client, 'c', memory)).workflows.map(({ failing }) => failing?.why);

  expect(await look()).toEqual([undefined, undefined]);
  expect(asked).toBe(0);
  const { workflows } = await observeEngine(client, 'c', memory);
  expect(workflows.map(({ leftOut }) => leftOut)).toEqual(['NodePool bad', 'NodePool bad']);

  entity.phase = 'retrying';
  expect(await look()).toEqual(['no instance types', 'no instance types']);
  expect(await look()).toEqual(['no instance types', 'no instance types']);
  expect(asked).toBe(2);

  [entity.historyLength, entity.why] = [12, 'the cloud is away'];
  expect(await look()).toEqual(['the cloud is away', 'the cloud is away']);
  expect(asked).toBe(4);
});

test('an activity that waits, attempt after attempt, does not fail', async () => {
  const observed = async (type: string): Promise<unknown> => {
    const raw = {
      pendingActivities: [
        {
          ...{ activityId: '1', activityType: { name: 'finishTermination' }, attempt: 200, state: 1 },
          lastFailure: { message: 'instance i-1 is ending', applicationFailureInfo: { type } },
        },
      ],
    };
    const handle = (workflowId: string): object => ({
      describe: () =>
        Promise.resolve({
          ...{ workflowId, runId: 'run', type: 'terminateNode', status: { name: 'RUNNING' }, raw, historyLength: 9 },
          ...{ taskQueue: taskQueues('c').urgent, typedSearchAttributes: { get: () => undefined } },
        }),
    });
    const client = {
      options: { namespace: 'default' },
      connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
      workflow: { list: async function* () {}, getHandle: handle },
      workflowService: {
        describeTaskQueue: () => Promise.resolve({ pollers: [], stats: {} }),
        getWorkflowExecutionHistoryReverse: () => Promise.resolve({ history: { events: [] } }),
      },
    } as unknown as Client;
    const { workflows } = await observeEngine(client, 'c');
    return workflows[0]?.activities[0]?.failure;
  };

  expect(await observed('Unavailable')).toBe('instance i-1 is ending');
  expect(await observed('Waiting')).toBeUndefined();
});
