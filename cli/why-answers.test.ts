import { expect, test } from '@jest/globals';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { StatusReport } from './status-rows.js';
import { poolAnswer, type PoolKnown } from './why-answers.js';

const at = '2026-01-05T12:00:00Z';
const condition = (type: string, status: 'True' | 'False', message = '') => ({
  ...{ type, status, message, reason: type, lastTransitionTime: at },
});
const pool = (more: { metadata?: object; spec?: object; status?: object } = {}): NodePool =>
  ({
    metadata: { name: 'gpu', ...more.metadata },
    spec: { ...more.spec },
    status: { conditions: [condition('Ready', 'True')], ...more.status },
  }) as unknown as NodePool;
const claim = (name: string, more: object = {}): StatusReport['claims'][number] => ({
  ...{ nodeClaim: name, nodePool: 'gpu', node: name, state: 'ready', ageMs: 0, message: '' },
  ...{ instanceType: 'g5.xlarge', capacityType: 'spot', zone: 'a', ...more },
});
const empty: StatusReport = {
  ...{ pools: [], claims: [], workflows: [], moreUnderWay: 0, stays: [], moreStay: 0, unread: [], pauses: [] },
  ...{ stuck: [], unavailable: [], refused: [], declined: [], problems: [], unplaced: [], drift: [] },
};
const known = (more: Partial<PoolKnown> = {}): PoolKnown => ({
  ...{ name: 'gpu', pool: pool(), report: empty, budgets: [], podsByNode: new Map(), ...more },
});

test.each<[string, Partial<PoolKnown>, string]>([
  ['dynamic', {}, 'launches nodes for pending pods that fit it'],
  ['static', { pool: pool({ spec: { replicas: 2 } }) }, 'keeps 2 nodes, also without pods'],
  [
    'not Ready',
    { pool: pool({ status: { conditions: [condition('Ready', 'False', 'no subnet')] } }) },
    'launches nothing: it is not Ready: Ready: no subnet',
  ],
  [
    'without conditions',
    { pool: pool({ status: { conditions: [] } }) },
    'launches nothing: it is not Ready: it has no condition Ready',
  ],
  [
    'being deleted',
    { pool: pool({ metadata: { deletionTimestamp: at } }) },
    'is being deleted: it launches nothing, and its nodes drain',
  ],
  [
    'at its limits',
    {
      pool: pool({
        spec: { limits: { cpu: '8', memory: '1Ti', nodes: '2' } },
        status: { resources: { cpu: '8' }, nodes: 2, conditions: [condition('Ready', 'True')] },
      }),
    },
    'launches nothing more: its limits are used up: cpu 8, nodes 2',
  ],
  [
    'while Karpenter runs',
    { report: { ...empty, karpenter: { holder: 'k-1', lease: 'kube-system/l' } } },
    'launches nothing: k-1 holds the lease kube-system/l',
  ],
  [
    'gone without its nodes',
    {
      pool: undefined,
      report: {
        ...empty,
        pools: [{ nodePool: 'gpu', ready: 'gone', message: 'create it again', nodes: 1, limits: [] }],
      },
    },
    'is gone: create it again',
  ],
])('why: a NodePool %s', (_case, more, answer) => {
  expect(poolAnswer(known(more)).answer).toBe(answer);
});

test("why: a NodePool's conditions, nodes, pods, pauses, budgets and staying nodes follow, and nothing of other NodePools", () => {
  const report: StatusReport = {
    ...empty,
    pools: [
      { nodePool: 'gpu', ready: 'True', message: '', nodes: 2, draining: 1, limits: ['cpu 8 of 9'], pricePerHour: 1 },
    ],
    claims: [
      claim('n1'),
      claim('c2', { node: '', state: 'launching', message: 'no capacity' }),
      claim('x', { nodePool: 'b' }),
    ],
    unplaced: [
      { why: 'gpu: cpu 64 exceeds what is left', pods: ['shop/web-0'] },
      { why: 'b: no', pods: ['shop/db-0'] },
      { why: 'b, big-gpu: no', pods: ['shop/db-1'] },
    ],
    pauses: [
      { scope: { kind: 'nodePool', name: 'gpu' }, actor: 'ann', reason: 'release' },
      { scope: { kind: 'node', name: 'x' }, actor: 'ann', reason: 'other' },
    ],
    stays: [{ why: 'a budget', nodes: ['x', 'n1'] }],
    unread: ['Events: forbidden'],
  };
  const budgets = ['gpu', 'b'].map((nodePool) => ({
    ...{ nodePool, reason: 'Empty' as const, total: 2, disrupting: 1, allowed: 0, ruledBy: 'budget 10%' },
  }));
  const refused = pool({
    status: { conditions: [condition('Ready', 'True'), condition('NodeClaimsAccepted', 'False', 'denied')] },
  });
  expect(poolAnswer(known({ pool: refused, report, budgets, podsByNode: new Map([['n1', 3]]) })).details).toEqual([
    'NodeClaimsAccepted is False: NodeClaimsAccepted: denied',
    'it has 2 nodes, 1 of them draining at $1.0000 per hour; limits: cpu 8 of 9',
    'node n1 (g5.xlarge spot in a): ready, 3 pods',
    'nodeclaim c2 (g5.xlarge spot in a): launching: no capacity',
    '1 pod that it cannot take: shop/web-0: gpu: cpu 64 exceeds what is left',
    'paused: NodePool gpu until it is resumed, by ann: release',
    'Empty: 0 of 2 nodes may be disrupted now (budget 10%), 1 being disrupted',
    'n1 could go but stay: a budget',
    'could not be read: Events: forbidden',
  ]);
});
