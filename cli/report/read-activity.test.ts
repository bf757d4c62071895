import { expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { readActivity } from './read-activity.js';

interface Kept {
  readonly id: string;
  readonly status: string;
  readonly phase?: string;
  /** Closed between one list and the next. */
  readonly isInBoth?: boolean;
  /** Orders in its history; absent: it cannot be read. */
  readonly orders?: readonly string[];
}

const now = Date.parse('2026-01-05T12:00:00Z');

/** Visibility gives what is open to queries of what runs, and the rest to the others; which histories are read is noted. */
function fakeClient(kept: readonly Kept[]): { client: Client; read: string[] } {
  const read: string[] = [];
  const client = {
    options: { namespace: 'default', loadedDataConverter: { payloadCodecs: [] } },
    workflow: {
      list: async function* ({ query }: { query: string }) {
        const isOpen = query.includes("ExecutionStatus = 'Running'");
        const isOfAll = !query.includes('ExecutionStatus');
        const isExpiration = query.includes('expireNode');
        for (const one of kept.filter(
          ({ status, isInBoth }) => isOfAll || isInBoth === true || (status === 'RUNNING') === isOpen,
        )) {
          if (isOpen && one.id.startsWith('expire') !== isExpiration) continue;
          yield await Promise.resolve({
            ...{ workflowId: `prod/${one.id}`, runId: one.id, status: { name: one.status } },
            ...{ startTime: new Date(now - 60_000), closeTime: new Date(now) },
            typedSearchAttributes: {
              get: ({ name }: { name: string }) => (name === 'StowagePhase' ? one.phase : undefined),
            },
          });
        }
      },
      getHandle: (_id: string, runId: string) => ({
        fetchHistory: async () => {
          read.push(runId);
          const { orders } = kept.find(({ id }) => id === runId)!;
          if (orders === undefined) throw new Error('gone');
          return Promise.resolve({
            events: orders.map((actor) => ({
              eventTime: msNumberToTs(now - 1000),
              workflowExecutionSignaledEventAttributes: {
                signalName: 'approve',
                input: { payloads: [defaultPayloadConverter.toPayload({ actor })] },
              },
            })),
          });
        },
      }),
    },
  };
  return { client: client as unknown as Client, read };
}

test('report: reads the histories of workflows that take orders once, closed or not, and counts those past retention', async () => {
  const { client, read } = fakeClient([
    { id: 'disrupt', status: 'RUNNING', orders: ['ann'] },
    { id: 'expire/9', status: 'RUNNING', orders: ['bob'] },
    { id: 'disrupt/old', status: 'CONTINUED_AS_NEW', orders: ['eve'] },
    { id: 'terminate/1', status: 'COMPLETED', phase: 'terminated', orders: ['joe'], isInBoth: true },
    { id: 'consolidate/1', status: 'COMPLETED', phase: 'done' },
    { id: 'launch/1', status: 'COMPLETED', phase: 'initialized' },
    { id: 'expire/1', status: 'COMPLETED', phase: 'gone' },
    { id: 'provision', status: 'CONTINUED_AS_NEW' },
  ]);

  const told = await readActivity({ client, cluster: 'prod', since: now - 3_600_000, now });

  expect(read.sort()).toEqual(['consolidate/1', 'disrupt', 'disrupt/old', 'expire/9', 'terminate/1']);
  expect(told.orders.map(({ by }) => by).sort()).toEqual(['ann', 'bob', 'eve', 'joe']);
  expect(told.rows.map(({ workflowId, outcome }) => [workflowId, outcome])).toEqual([
    ['prod/terminate/1', 'terminated'],
    ['prod/consolidate/1', 'done'],
    ['prod/launch/1', 'initialized'],
    ['prod/expire/1', 'gone'],
  ]);
  expect(told.notes).toEqual(['1 history could not be read.']);
});
