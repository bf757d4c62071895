import { describe, expect, test } from 'vitest';
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
  nominated: [],
  onExistingNodes: 0,
  unschedulable: 0,
  deferred: 0,
  unplacedOfDeletingNodes: plans.reduce((sum, { unplaced }) => sum + unplaced, 0),
  firstReason: 'default/other: too large',
  deleting: plans,
  pricePerHour: 0,
  lowerBoundPerHour: 0,
  more: false,
  nominationMs: 0,
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

describe('who waits for a claim', () => {
  const shared = plan(deleting('a', { claims: [0, 1] }), deleting('b', { claims: [1] }));

  test.each([
    [0, ['replace/a']],
    [1, ['replace/a', 'replace/b']],
    [2, []],
  ])('claim %d', (index, waiters) => {
    expect(waitersOf(shared, index, [a, b])).toEqual(waiters);
  });

  test('a plan that does not say for whom it is: everybody', () => {
    const old: { deleting?: unknown } = { ...shared };
    delete old.deleting;
    expect(waitersOf(old as Planned, 2, [a, b, a])).toEqual(['replace/a', 'replace/b']);
  });
});

describe('what a request is told', () => {
  test('the claims that its own pods go to, not those of others', () => {
    const round = {
      plan: plan(deleting('a', { claims: [0] }), deleting('b', { claims: [1] })),
      created: [created(0), created(1)],
    };

    expect(answerTo(a, [round])).toEqual({ id: 'r-a', claims: [{ name: 'claim-0-0', uid: 'uid-0-0' }], unplaced: 0 });
    expect(answerTo(b, [round])).toEqual({ id: 'r-b', claims: [{ name: 'claim-0-1', uid: 'uid-0-1' }], unplaced: 0 });
  });

  test('nothing to wait for where its pods go to nodes that are there', () => {
    expect(answerTo(b, [{ plan: plan(deleting('a', { claims: [0] })), created: [created(0)] }])).toEqual({
      id: 'r-b',
      claims: [],
      unplaced: 0,
    });
  });

  test('claims of earlier passes that are still coming up are waited for', () => {
    const coming = { name: 'earlier', uid: 'uid-earlier' };
    const answer = answerTo(a, [{ plan: plan(deleting('a', { coming: [coming] })), created: [] }]);
    expect(answer.claims).toEqual([coming]);
  });

  test('pods of others without a place are no failure of it', () => {
    const round = {
      plan: plan(deleting('a'), deleting('b', { unplaced: 2, firstReason: 'default/b-1: no zone' })),
      created: [],
    };

    expect(answerTo(a, [round])).toEqual({ id: 'r-a', claims: [], unplaced: 0 });
    expect(answerTo(b, [round])).toEqual({ id: 'r-b', claims: [], unplaced: 2, firstReason: 'default/b-1: no zone' });
  });

  test('a claim that was not created leaves its pods without a place', () => {
    const round = { plan: plan(deleting('a', { claims: [0, 1] })), created: [created(1)] };
    expect(answerTo(a, [round])).toEqual({
      id: 'r-a',
      claims: [{ name: 'claim-0-1', uid: 'uid-0-1' }],
      unplaced: 1,
      firstReason: '1 NodeClaim for its pods was not created',
    });
  });

  test('over several rounds: all claims, and who has no place after the last', () => {
    const rounds = [
      { plan: plan(deleting('a', { claims: [0, 3], unplaced: 4 })), created: [created(0)] },
      { plan: plan(deleting('a', { claims: [0] })), created: [created(0, 1)] },
    ];
    const { claims, unplaced } = answerTo(a, rounds);
    expect(claims.map(({ name }) => name)).toEqual(['claim-0-0', 'claim-1-0']);
    expect(unplaced).toBe(0);
  });
});
