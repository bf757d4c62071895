import type { Client } from '@temporalio/client';
import { describe, expect, test } from '@jest/globals';
import { disruptState, nothingKnown, statusWorkflows } from './status-report.js';
import { StatusReading } from './status-reading.js';

const pool = { nodePool: 'default', nodes: 1, pricePerHour: 0.1 };

function clientOf(query: () => unknown) {
  return {
    connection: { withDeadline: async (_: number, call: () => unknown) => Promise.resolve(call()) },
    workflow: { getHandle: () => ({ query }) },
  } as unknown as Parameters<typeof disruptState>[0]['client'];
}

test('status has what `disrupt` found, and when the next closed budget opens', async () => {
  const reading = new StatusReading();
  const closed = { nodePool: 'default', reason: 'Empty', total: 3, disrupting: 0, allowed: 0 } as const;
  const [later, first] = ['2026-01-06T10:00:00.000Z', '2026-01-06T09:00:00.000Z'].map((changesAt) => ({ ...closed, changesAt })); // prettier-ignore
  const stays = [{ why: 'pod default/db is marked do-not-disrupt', nodes: ['node-x'] }];
  const details = { hash: '', budgets: [later, closed, first], capacity: [pool], decisions: [], stays, staysMore: 2 };
  const client = clientOf(() => ({ at: first?.changesAt, held: [], decisions: [], details }));
  expect(await disruptState({ client, cluster: 'c', reading })).toEqual({
    ...{ capacity: [pool], stays, moreStay: 2 },
    nextWindow: { at: first?.changesAt, nodePool: 'default', reason: 'Empty', why: 'a budget changes then' },
  });
  expect(reading.unread).toEqual([]);
});

test('status names everything of a `disrupt` that does not answer in time (surfaces/nothing-unread-is-silent)', async () => {
  const reading = new StatusReading();
  const client = clientOf(() => {
    throw new Error('Deadline exceeded');
  });
  expect(await disruptState({ client, cluster: 'c', reading })).toEqual(nothingKnown);
  expect(reading.unread).toEqual([
    'prices, nodes that stay, the next window of a budget, the lower bound of prices (the workflow disrupt): Deadline exceeded',
  ]);
});

interface Open {
  readonly id: string;
  readonly type: string;
  readonly StowagePhase?: string;
  readonly StowageAwaitingApproval?: boolean;
  readonly StowageBlockedBy?: string;
}

/** Visibility's answer to a query whose terms are joined by AND. */
function matches(open: Open, query: string): boolean {
  const values: Readonly<Record<string, unknown>> = {
    ...open,
    ...{ StowageCluster: 'prod', ExecutionStatus: 'Running', WorkflowType: open.type },
  };
  return query.split(' AND ').every((term) => {
    const [, key = '', operator = '', rest = ''] = /^(\w+) (=|IN|NOT IN|IS NOT NULL) ?(.*)$/.exec(term) ?? [];
    const value = values[key];
    const listed = rest.replace(/[()']/g, '').split(', ').includes(String(value));
    if (operator === 'IS NOT NULL') return value !== undefined;
    return operator === 'NOT IN' ? value !== undefined && !listed : listed;
  });
}

/** Newest first, as the store has them; every query of a workflow is noted. */
function fakeClient(open: readonly Open[], answers = true): { client: Client; asked: string[]; most: () => number } {
  const asked: string[] = [];
  let now = 0;
  let most = 0;
  const explain = async (id: string): Promise<object> => {
    asked.push(id);
    most = Math.max(most, (now += 1));
    await Promise.resolve();
    now -= 1;
    if (!answers) throw new Error('no worker');
    return { phase: 'asked', facts: {} };
  };
  const attributesOf = (one: Open) => ({
    get: ({ name }: { name: string }) => (one as unknown as Record<string, unknown>)[name],
  });
  const client = {
    connection: { withDeadline: async (_at: number, run: () => Promise<unknown>) => run() },
    workflow: {
      list: async function* ({ query }: { query: string }) {
        for (const one of open.filter((each) => matches(each, query)))
          yield await Promise.resolve({
            ...{ workflowId: `prod/${one.id}`, runId: one.id, startTime: new Date(0) },
            typedSearchAttributes: attributesOf(one),
          });
      },
      getHandle: (id: string) => ({ query: async () => explain(id) }),
    },
  };
  return { client: client as unknown as Client, asked, most: () => most };
}

const question = {
  ...{ id: 'expire/q', type: 'expireNode', StowagePhase: 'awaiting approval', StowageAwaitingApproval: true },
};
const drain = { id: 'terminate/b', type: 'terminateNode', StowagePhase: 'draining', StowageBlockedBy: 'pdb/a/b' };
const due = { id: 'expire/due', type: 'expireNode', StowagePhase: 'replacing' };

describe('status: the listed workflows (surfaces/needs-you-first)', () => {
  test('include questions, blocked drains and expirations that are due', async () => {
    const { client, asked, most } = fakeClient([due, question, drain]);
    const { rows, more } = await statusWorkflows({ client, cluster: 'prod' }, true);

    expect(rows.map(({ workflowId }) => workflowId)).toEqual(['prod/expire/due', 'prod/expire/q', 'prod/terminate/b']);
    expect(more).toBe(0);
    expect(asked.sort()).toEqual(['prod/expire/due', 'prod/expire/q', 'prod/terminate/b']);
    expect(most()).toBeGreaterThan(1);
  });

  test('are limited for those under way, and the rest counted; all that need a person are listed', async () => {
    const launches = Array.from({ length: 450 }, (_, i) => ({
      ...{ id: `launch/${i}`, type: 'launchNode', StowagePhase: 'launching' },
    }));
    const questions = Array.from({ length: 300 }, (_, i) => ({ ...question, id: `repair/${i}`, type: 'repairNode' }));
    const { client, most } = fakeClient([...launches, ...questions]);
    const { rows, more } = await statusWorkflows({ client, cluster: 'prod' }, true);

    expect(rows.filter(({ awaitingApproval }) => awaitingApproval)).toHaveLength(300);
    expect(rows).toHaveLength(500);
    expect(more).toBe(250);
    expect(most()).toBeLessThanOrEqual(20);
  });

  test('are queried once where no worker answers', async () => {
    const { client, asked } = fakeClient(
      [...Array.from({ length: 100 }, (_, i) => ({ ...drain, id: `terminate/${i}` }))],
      false,
    );
    const { rows } = await statusWorkflows({ client, cluster: 'prod' }, true);

    expect(rows).toHaveLength(100);
    expect(rows[0]).toMatchObject({ phase: 'draining', blockedBy: 'pdb/a/b' });
    expect(asked.length).toBeLessThanOrEqual(20);
  });

  test('exclude entity workflows', async () => {
    const { client } = fakeClient([
      { id: 'disrupt', type: 'disrupt', StowagePhase: 'idle' },
      { id: 'savings/1', type: 'measureSavings', StowagePhase: 'measuring' },
    ]);
    expect((await statusWorkflows({ client, cluster: 'prod' }, false)).rows).toEqual([]);
  });
});
