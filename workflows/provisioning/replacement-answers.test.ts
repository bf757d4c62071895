import { describe, expect, test } from '@jest/globals';
import type { CreatedClaim, DeletingNodePlan, PlanNodesResult } from '../../activities/provisioning/contract.js';
import type { ReplacementRequest } from '../messages.js';
import { answerTo, waitersOf } from './replacement-answers.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

const request = (node: string): ReplacementRequest => ({
  id: `r-${node}`,
  nodes: [node],
  replyTo: `replace/${node}`,
  reason: 'drifted',
  holdMs: 60_000,
});
const deleting = (node: string, more: Partial<DeletingNodePlan> = {}): DeletingNodePlan => ({
  node,
  claims: [],
  coming: [],
  unplaced: 0,
  ...more,
});
const plan = (...plans: DeletingNodePlan[]): Planned => ({
  state: 'planned',
  claims: [],
  typeLists: [],
  onExistingNodes: 0,
  unschedulable: 0,
  deferred: 0,
  unplacedOfDeletingNodes: plans.reduce((sum, { unplaced }) => sum + unplaced, 0),
  firstReason: 'default/other: too large',
  deleting: plans,
  pricePerHour: 0,
  lowerBoundPerHour: 0,
  more: false,
});
const created = (index: number, round = 0): CreatedClaim => ({
  name: `claim-${round}-${index}`,
  uid: `uid-${round}-${index}`,
  nodePool: 'default',
  resourceVersion: '1',
  index,
});
const a = request('a');
const b = request('b');

describe('nodes that wait for planned claims', () => {
  const shared = plan(deleting('a', { claims: [0, 1] }), deleting('b', { claims: [1] }));

  test.each([
    [0, ['replace/a']],
    [1, ['replace/a', 'replace/b']],
    [2, []],
  ])('claim %d', (index, waiters) => {
    expect(waitersOf(shared, index, [a, b])).toEqual(waiters);
  });

  test('are all of them where a plan does not say for whom a claim is', () => {
    const old: { deleting?: unknown } = { ...shared };
    delete old.deleting;
    expect(waitersOf(old as Planned, 2, [a, b, a])).toEqual(['replace/a', 'replace/b']);
  });
});

describe('the answer to a request for replacements', () => {
  test('has the claims of its own pods, and no others', () => {
    const round = {
      plan: plan(deleting('a', { claims: [0] }), deleting('b', { claims: [1] })),
      created: [created(0), created(1)],
    };

    expect(answerTo(a, [round])).toEqual({ id: 'r-a', claims: [{ name: 'claim-0-0', uid: 'uid-0-0' }], unplaced: 0 });
    expect(answerTo(b, [round])).toEqual({ id: 'r-b', claims: [{ name: 'claim-0-1', uid: 'uid-0-1' }], unplaced: 0 });
  });

  test('has nothing to wait for where its pods go to existing nodes', () => {
    expect(answerTo(b, [{ plan: plan(deleting('a', { claims: [0] })), created: [created(0)] }])).toEqual({
      id: 'r-b',
      claims: [],
      unplaced: 0,
    });
  });

  test('has claims of earlier passes that are still starting', () => {
    const coming = { name: 'earlier', uid: 'uid-earlier' };
    const answer = answerTo(a, [{ plan: plan(deleting('a', { coming: [coming] })), created: [] }]);
    expect(answer.claims).toEqual([coming]);
  });

  test('is no failure because of unplaced pods of others', () => {
    const round = {
      plan: plan(deleting('a'), deleting('b', { unplaced: 2, firstReason: 'default/b-1: no zone' })),
      created: [],
    };

    expect(answerTo(a, [round])).toEqual({ id: 'r-a', claims: [], unplaced: 0 });
    expect(answerTo(b, [round])).toEqual({ id: 'r-b', claims: [], unplaced: 2, firstReason: 'default/b-1: no zone' });
  });

  test('counts the pods of a claim that was not created as unplaced', () => {
    const round = { plan: plan(deleting('a', { claims: [0, 1] })), created: [created(1)] };
    expect(answerTo(a, [round])).toEqual({
      id: 'r-a',
      claims: [{ name: 'claim-0-1', uid: 'uid-0-1' }],
      unplaced: 1,
      firstReason: '1 NodeClaim for its pods was not created',
    });
  });

  test('has the claims of all rounds, and the pods unplaced after the last', () => {
    const rounds = [
      { plan: plan(deleting('a', { claims: [0, 3], unplaced: 4 })), created: [created(0)] },
      { plan: plan(deleting('a', { claims: [0] })), created: [created(0, 1)] },
    ];
    const { claims, unplaced } = answerTo(a, rounds);
    expect(claims.map(({ name }) => name)).toEqual(['claim-0-0', 'claim-1-0']);
    expect(unplaced).toBe(0);
  });
});
