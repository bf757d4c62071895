import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from '@jest/globals';
import { ordersIn, readActivity, readSavings } from './read-activity.js';
import type { Run, Step } from '../history/records.js';
import { timestampOf } from '../../test/simulation/temporal/durations.js';

interface Kept {
  readonly id: string;
  readonly type?: string;
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
        for (const one of kept.filter(
          ({ status, isInBoth }) => isOfAll || isInBoth === true || (status === 'RUNNING') === isOpen,
        )) {
          yield await Promise.resolve({
            ...{ workflowId: `prod/${one.id}`, runId: one.id, type: one.type, status: { name: one.status } },
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
              eventTime: timestampOf(now - 1000),
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
    // A usual outcome is no attribute.
    { id: 'launch/1', type: 'launchNode', status: 'COMPLETED' },
    { id: 'expire/1', status: 'COMPLETED', phase: 'gone' },
    { id: 'provision', status: 'CONTINUED_AS_NEW' },
  ]);

  const activity = await readActivity({ client, cluster: 'prod', since: now - 3_600_000, now });

  expect(read.sort()).toEqual(['consolidate/1', 'disrupt', 'disrupt/old', 'expire/9', 'terminate/1']);
  expect(activity.orders.map(({ by }) => by).sort()).toEqual(['ann', 'bob', 'eve', 'joe']);
  expect(activity.rows.map(({ workflowId, outcome }) => [workflowId, outcome])).toEqual([
    ['prod/terminate/1', 'terminated'],
    ['prod/consolidate/1', 'done'],
    ['prod/launch/1', 'initialized'],
    ['prod/expire/1', 'gone'],
  ]);
  expect(activity.notes).toEqual(['1 history could not be read.']);
});

const at = Date.parse('2026-01-05T12:00:00Z');
const iso = new Date(at).toISOString();
const run = (workflowId: string, steps: readonly Step[]): Run => ({ workflowId, runId: 'r', kind: 'terminate', steps });
const message = (name: string, input: unknown): Step => ({ is: 'message', at, name, input });
const attributes: Step = {
  ...{ is: 'attributes', at },
  values: { StowageNodeClaim: 'default-abc', StowageNodePool: 'default' },
};
const ordersOf = (...runs: Run[]) => ordersIn(runs, at - 1000);

test('report: an order has its actor, reason and object', () => {
  const { orders } = ordersOf(
    run('prod/terminate/1', [
      attributes,
      message('expedite', { actor: 'ann', reason: 'incident', force: true }),
      message('hold', { actor: 'bob', on: false }),
    ]),
    run('prod/disrupt', [
      message('pause', {
        actor: 'ann',
        reason: 'release',
        scope: { kind: 'nodePool', name: 'gpu', reason: 'Drifted' },
      }),
      message('reconsider', { actor: 'ann', node: 'n1' }),
    ]),
    run('prod/consolidate/1', [
      { is: 'started', at, input: { candidates: [{ node: 'n1' }, { node: 'n2' }] }, isContinued: false },
      message('reject', { actor: 'ann' }),
    ]),
  );
  expect(orders.map(({ order, by, because, about, isForced }) => [order, by, because, about, isForced])).toEqual([
    ['expedite', 'ann', 'incident', 'NodeClaim default-abc', true],
    ['release', 'bob', '', 'NodeClaim default-abc', false],
    ['pause', 'ann', 'release', 'NodePool gpu for Drifted', false],
    ['reconsider', 'ann', '', 'node n1', false],
    ['reject', 'ann', '', 'n1, n2', false],
  ]);
});

test('report: signals between workflows, earlier orders and invalid ones are no orders', () => {
  const { orders } = ordersOf(
    run('prod/terminate/1', [
      message('expedite', { deadline: 1 }),
      message('hold', true),
      message('nodeChanged', { actor: 'ann' }),
      message('approve', undefined),
      { ...message('approve', { actor: 'ann' }), at: at - 5000 },
    ]),
  );
  expect(orders).toEqual([]);
});

test('report: force has its actor and pods', () => {
  const publish = (reason: string, text: string): Step => ({
    ...{ is: 'activity', at, name: 'publishDisruption', result: undefined },
    input: { nodes: ['n1'], reason, message: text },
  });
  const { forced } = ordersOf(
    run('prod/terminate/1', [
      attributes,
      publish('DisruptionBlocked', 'no'),
      publish(
        'DrainForced',
        'Drain forced by ann: deleted 1 pod (shop/web-0) in spite of PodDisruptionBudgets or do-not-disrupt',
      ),
    ]),
  );
  expect(forced).toEqual([
    {
      ...{ at: iso, nodePool: 'default', nodeClaim: 'default-abc', by: 'ann', workflowId: 'prod/terminate/1' },
      what: 'deleted 1 pod (shop/web-0) in spite of PodDisruptionBudgets or do-not-disrupt',
    },
  ]);
});

test('the page reads the histories of measurements alone', async () => {
  const { client, read } = fakeClient([
    { id: 'consolidate/1', status: 'COMPLETED', phase: 'done', orders: ['ann'] },
    { id: 'savings/1', status: 'COMPLETED', orders: [] },
    { id: 'savings/2', status: 'RUNNING', orders: [] },
  ]);
  const { rows } = await readSavings({ client, cluster: 'prod', since: 0 });
  expect(read.sort()).toEqual(['savings/1', 'savings/2']);
  expect(rows).toContainEqual(expect.objectContaining({ kind: 'consolidate', outcome: 'done' }));
});

test('report: the last measured saving of a command counts', () => {
  const look = (afterMs: number, realised: number): Step => ({
    ...{ is: 'activity', at, name: 'measureCommand' },
    input: { command: { id: 'prod/consolidate/1', reason: 'Empty', nodes: ['n1'] }, afterMs },
    result: { afterMs, predicted: 0.5, realised },
  });
  const { measured } = ordersOf(run('prod/savings/1', [look(1, 0.5), look(2, 0.25)]), run('prod/savings/2', []));
  expect(measured).toEqual([
    {
      ...{ workflowId: 'prod/consolidate/1', reason: 'empty', nodes: ['n1'], afterMs: 2 },
      ...{ predictedPerHour: 0.5, realisedPerHour: 0.25 },
    },
  ]);
});
