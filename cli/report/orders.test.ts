import { expect, test } from 'vitest';
import type { Run, Step } from '../history/records.js';
import { ordersIn } from './orders.js';

const at = Date.parse('2026-01-05T12:00:00Z');
const iso = new Date(at).toISOString();
const run = (workflowId: string, steps: readonly Step[]): Run => ({ workflowId, runId: 'r', kind: 'terminate', steps });
const message = (name: string, input: unknown): Step => ({ is: 'message', at, name, input });
const attributes: Step = {
  ...{ is: 'attributes', at },
  values: { StowageNodeClaim: 'default-abc', StowageNodePool: 'default' },
};
const told = (...runs: Run[]) => ordersIn(runs, at - 1000);

test('report: an order has its actor, reason and object', () => {
  const { orders } = told(
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
  const { orders } = told(
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
  const { forced } = told(
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

test('report: the last measured saving of a command counts', () => {
  const look = (afterMs: number, realised: number): Step => ({
    ...{ is: 'activity', at, name: 'measureCommand' },
    input: { command: { id: 'prod/consolidate/1', reason: 'Empty', nodes: ['n1'] }, afterMs },
    result: { afterMs, predicted: 0.5, realised },
  });
  const { measured } = told(run('prod/savings/1', [look(1, 0.5), look(2, 0.25)]), run('prod/savings/2', []));
  expect(measured).toEqual([
    {
      ...{ workflowId: 'prod/consolidate/1', reason: 'empty', nodes: ['n1'], afterMs: 2 },
      ...{ predictedPerHour: 0.5, realisedPerHour: 0.25 },
    },
  ]);
});
