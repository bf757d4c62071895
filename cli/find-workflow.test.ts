import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chooseWorkflow, findWorkflow, type Found, type NodeOrder } from './find-workflow.js';
import { RefusedError, type TemporalTarget } from './temporal.js';
import { refusals } from '../workflows/messages.js';
import { orForced } from './order.js';

const nowhere = `apiVersion: v1
kind: Config
current-context: a
contexts: [{ name: a, context: { cluster: a, user: a } }]
clusters: [{ name: a, cluster: { server: 'http://127.0.0.1:1' } }]
users: [{ name: a, user: {} }]
`;

describe('the workflow that a name in an order means', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'find-'));
    writeFileSync(join(folder, 'kubeconfig'), nowhere);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A rollout of NodePool `gpu` that asks, and nothing else. */
  const target = (answer: Promise<unknown> = Promise.resolve([])): TemporalTarget => {
    const rollout = {
      workflowId: 'prod/drift/1/a',
      typedSearchAttributes: {
        get: ({ name }: { name: string }) => (name === 'StowageAwaitingApproval' ? true : 'awaiting approval'),
      },
    };
    const question = { ...rollout, workflowId: 'prod/consolidate/1' };
    const client = {
      workflow: {
        list: async function* ({ query }: { query: string }) {
          if (query.includes("StowageNodePool = 'gpu'")) yield await Promise.resolve(rollout);
          if (query.includes("StowageNodePool = 'web'") && !query.includes('replaceDrifted')) yield question;
        },
        getHandle: () => ({ query: () => answer }),
      },
      // The deadline passes where a call gets no answer.
      connection: {
        withDeadline: (_: number, call: () => Promise<unknown>) =>
          Promise.race([call(), Promise.resolve().then(() => Promise.reject(new Error('DEADLINE_EXCEEDED')))]),
      },
    };
    const settings = { KUBECONFIG: join(folder, 'kubeconfig') };
    return { client, settings, cluster: 'prod' } as unknown as TemporalTarget;
  };

  test('of a NodePool is its rollout, for every order (surfaces/orders-by-nodepool)', async () => {
    for (const order of ['approve', 'reject', 'abort', 'hold', 'rollback'] as const)
      expect(await findWorkflow(target(), 'gpu', order)).toBe('prod/drift/1/a');
  });

  test('of a NodePool without a rollout: refused with the running workflows of its nodes', async () => {
    await expect(findWorkflow(target(), 'web', 'approve')).rejects.toThrow(
      'NodePool "web" has no rollout to approve; for its nodes there are, and have to be named:\n  prod/consolidate/1 (awaiting approval)',
    );
    await expect(findWorkflow(target(), 'web', 'rollback')).rejects.toThrow(
      'other drift is stopped by: stowage pause --nodepool web --reason Drifted',
    );
  });

  test.each(['prod/disrupt', 'disrupt', 'provision', 'launch/u1', 'interrupt/i-1', 'offerings'])(
    'of %s is refused, and no order is sent',
    async (id) => {
      await expect(findWorkflow(target(), id, 'approve')).rejects.toThrow(
        'takes no such order: approve is for a disruption or a drain',
      );
    },
  );

  test('is found without an answer of disrupt, so that an order is kept until a worker runs', async () => {
    const noWorker = new Promise<never>(() => undefined);
    expect(await findWorkflow(target(noWorker), 'gpu', 'approve')).toBe('prod/drift/1/a');
  });

  test('given as a workflow id is that workflow, if it takes the order; only a rollout takes rollback', async () => {
    expect(await findWorkflow(target(), 'consolidate/1', 'hold')).toBe('prod/consolidate/1');
    expect(await findWorkflow(target(), 'replicas/u1', 'retry')).toBe('prod/replicas/u1');
    await expect(findWorkflow(target(), 'consolidate/1', 'rollback')).rejects.toThrow(
      'prod/consolidate/1 takes no such order: rollback is for the rollout of a NodePool',
    );
  });

  test('of nothing known is refused; without the API server the error says that it may be a node', async () => {
    await expect(findWorkflow(target(), 'nosuch', 'abort')).rejects.toThrow(
      /^"nosuch" is no workflow id, and nothing is under way for a NodeClaim or NodePool of that name\. Whether it is a node cannot be read: .*ECONNREFUSED.*\. Give its NodeClaim or the workflow id/,
    );
  });
});

const found = (kind: Found['kind'], phase: string, asks = false): Found => ({
  workflowId: `prod/${kind ?? ''}/1`,
  kind,
  phase,
  asks,
});

describe('the workflow that an order about a node goes to', () => {
  const cases: [NodeOrder, Found[], string][] = [
    ['abort', [found('consolidate', 'launching')], 'prod/consolidate/1'],
    ['abort', [found('repair', 'tolerating')], 'prod/repair/1'],
    ['abort', [found('expire', 'replacing')], 'prod/expire/1'],
    ['hold', [found('replace', 'replacing'), found('terminate', 'draining')], 'prod/replace/1'],
    ['approve', [found('consolidate', 'awaiting approval', true), found('repair', 'tolerating')], 'prod/consolidate/1'],
    ['approve', [found('consolidate', 'draining'), found('terminate', 'draining', true)], 'prod/terminate/1'],
    ['expedite', [found('consolidate', 'draining'), found('terminate', 'draining')], 'prod/terminate/1'],
    ['retry', [found('consolidate', 'draining'), found('terminate', 'draining')], 'prod/terminate/1'],
    ['expedite', [found('consolidate', 'validating')], 'prod/consolidate/1'],
  ];
  test.each(cases)('for %s with %j running is %s', (order, all, expected) => {
    expect(chooseWorkflow('node-1', order, all)).toBe(expected);
  });

  const refused: [string, NodeOrder, Found[], string][] = [
    [
      'abort where no workflow runs for the name',
      'abort',
      [],
      '"node-1" is no workflow id, and nothing is under way for a node or NodePool of that name',
    ],
    [
      'abort where all workflows drain already',
      'abort',
      [found('consolidate', 'draining'), found('terminate', 'draining')],
      'nothing can be aborted any more for "node-1":\n  prod/consolidate/1 (draining)\n  prod/terminate/1 (draining)',
    ],
    [
      'reject where no approval is awaited',
      'reject',
      [found('consolidate', 'launching')],
      'nothing waits for approval for "node-1":\n  prod/consolidate/1 (launching)',
    ],
    [
      'abort where two workflows could be meant',
      'abort',
      [found('consolidate', 'launching'), { ...found('consolidate', 'validating'), workflowId: 'prod/consolidate/2' }],
      'several workflows are about "node-1"; name one of them:\n  prod/consolidate/1 (launching)\n  prod/consolidate/2 (validating)',
    ],
  ];
  test.each(refused)('%s: the order is refused, listing the running workflows', (_name, order, all, message) => {
    expect(() => chooseWorkflow('node-1', order, all)).toThrow(message);
  });
});

describe("an order that breaks the pods' protection", () => {
  const breaks = new RefusedError(refusals.breaksProtection, 'it deletes the pods shop/db-0');
  const send =
    (sent: boolean[], error: Error = breaks) =>
    async (force: boolean) => {
      sent.push(force);
      return force ? Promise.resolve('done') : Promise.reject(error);
    };

  test("is sent again with force when the person types the node's name", async () => {
    const sent: boolean[] = [];
    const asked: string[] = [];
    const ask = async (question: string): Promise<string> => Promise.resolve((asked.push(question), 'node-1'));
    await expect(orForced('node-1', send(sent), ask)).resolves.toBe('done');
    expect(sent).toEqual([false, true]);
    expect(asked).toEqual(['it deletes the pods shop/db-0\nType "node-1" to do it all the same: ']);
  });

  test('is not sent again when something else is typed, without a terminal, or when it was refused for another reason', async () => {
    const sent: boolean[] = [];
    await expect(orForced('node-1', send(sent), async () => Promise.resolve('yes'))).rejects.toThrow(
      'nothing was done',
    );
    await expect(orForced('node-1', send(sent), null)).rejects.toThrow(breaks.message);
    const other = new RefusedError(refusals.tooLate, 'too late');
    await expect(orForced('node-1', send(sent, other), async () => Promise.resolve('node-1'))).rejects.toThrow(
      'too late',
    );
    expect(sent).toEqual([false, false, false]);
  });
});
