import { expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { observeFailed } from './observe-engine.js';
import { timestampOf } from '../../test/simulation/temporal/durations.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const ago = (seconds: number): Date => new Date(now - seconds * 1000);

interface Latest {
  readonly status: string;
  readonly startedAgo: number;
}

/** Temporal with failed runs, by workflow and seconds since they closed, and the latest run of each workflow. */
function temporal(failed: readonly (readonly [string, number])[], latest: Readonly<Record<string, Latest>>) {
  const queries: string[] = [];
  const client = {
    options: { namespace: 'default' },
    workflow: {
      // eslint-disable-next-line @typescript-eslint/require-await -- as the SDK's
      list: async function* ({ query }: { query: string }) {
        queries.push(query);
        for (const [workflowId, closedAgo] of failed) {
          yield {
            workflowId,
            runId: `${workflowId}@${closedAgo}`,
            startTime: ago(closedAgo + 1),
            closeTime: ago(closedAgo),
          };
        }
      },
      getHandle: (workflowId: string) => ({
        describe: () => {
          const found = latest[workflowId];
          if (found === undefined) return Promise.reject(new WorkflowNotFoundError('gone', workflowId, undefined));
          return Promise.resolve({ status: { name: found.status }, startTime: ago(found.startedAgo) });
        },
      }),
    },
    workflowService: {
      getWorkflowExecutionHistoryReverse: ({ execution }: { execution: { runId: string } }) => {
        const failure = { message: 'Activity task failed', cause: { message: `refused in ${execution.runId}` } };
        const event = { eventTime: timestampOf(now), workflowExecutionFailedEventAttributes: { failure } };
        return Promise.resolve({ history: { events: [event] } });
      },
    },
  } as unknown as Client;
  return { client, queries };
}

test('a workflow that fails whenever it is started anew is one finding, with since when, how often and the last cause', async () => {
  const { client, queries } = temporal(
    [
      ['c/launch/a', 10],
      ['c/launch/a', 70],
      ['c/launch/a', 130],
    ],
    { 'c/launch/a': { status: 'RUNNING', startedAgo: 2 } },
  );

  expect(await observeFailed(client, 'c', now)).toEqual([
    { workflowId: 'c/launch/a', since: ago(130).getTime(), runs: 3, why: 'refused in c/launch/a@10' },
  ]);
  expect(queries).toEqual([
    "StowageCluster = 'c' AND ExecutionStatus = 'Failed' AND CloseTime > '2026-01-05T11:57:00.000Z'",
  ]);
});

test.each<[string, Latest | undefined]>([
  ['succeeded since', { status: 'COMPLETED', startedAgo: 5 }],
  ['was ended by a person', { status: 'TERMINATED', startedAgo: 5 }],
  ['runs for longer than the one that failed', { status: 'RUNNING', startedAgo: 40 }],
  ['is forgotten', undefined],
])('a failed workflow that %s is no such finding', async (_, latest) => {
  const { client } = temporal([['c/launch/a', 60]], latest === undefined ? {} : { 'c/launch/a': latest });

  expect(await observeFailed(client, 'c', now)).toEqual([]);
});
