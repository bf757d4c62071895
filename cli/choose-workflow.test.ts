import { describe, expect, test } from 'vitest';
import { refusals } from '../workflows/messages.js';
import { chooseWorkflow } from './choose-workflow.js';
import type { Found, NodeOrder } from './choose-workflow.js';
import { orForced } from './force.js';
import { RefusedError } from './temporal.js';

const found = (kind: Found['kind'], phase: string, asks = false): Found => ({
  workflowId: `prod/${kind ?? ''}/1`,
  kind,
  phase,
  asks,
});
const dormant = found('expire', 'not due');

describe('the workflow that an order about a node goes to', () => {
  const cases: [NodeOrder, Found[], string][] = [
    ['abort', [dormant, found('consolidate', 'launching')], 'prod/consolidate/1'],
    ['abort', [dormant, found('repair', 'tolerating')], 'prod/repair/1'],
    ['abort', [found('expire', 'replacing')], 'prod/expire/1'],
    ['hold', [dormant, found('replace', 'replacing'), found('terminate', 'draining')], 'prod/replace/1'],
    [
      'approve',
      [dormant, found('consolidate', 'awaiting approval', true), found('repair', 'tolerating')],
      'prod/consolidate/1',
    ],
    ['approve', [found('consolidate', 'draining'), found('terminate', 'draining', true)], 'prod/terminate/1'],
    ['expedite', [dormant, found('consolidate', 'draining'), found('terminate', 'draining')], 'prod/terminate/1'],
    ['retry', [dormant, found('consolidate', 'draining'), found('terminate', 'draining')], 'prod/terminate/1'],
    ['expedite', [dormant, found('consolidate', 'validating')], 'prod/consolidate/1'],
  ];
  test.each(cases)('for %s with %j running', (order, all, expected) => {
    expect(chooseWorkflow('node-1', order, all)).toBe(expected);
  });

  const refused: [string, NodeOrder, Found[], string][] = [
    [
      'nothing is there',
      'abort',
      [],
      '"node-1" is no workflow id, and nothing is under way for a node or NodePool of that name',
    ],
    [
      'only its expiration waits',
      'abort',
      [dormant],
      'nothing is under way for "node-1" but\n  prod/expire/1 (not due)\nan order to its expiration has to name that workflow',
    ],
    [
      'it is too late',
      'abort',
      [dormant, found('consolidate', 'draining'), found('terminate', 'draining')],
      'nothing can be taken back any more for "node-1":\n  prod/expire/1 (not due)\n  prod/consolidate/1 (draining)\n  prod/terminate/1 (draining)',
    ],
    [
      'nobody asks',
      'reject',
      [found('consolidate', 'launching')],
      'nothing waits for approval for "node-1":\n  prod/consolidate/1 (launching)',
    ],
    [
      'two could',
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
