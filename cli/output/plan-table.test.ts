import { expect, test } from '@jest/globals';
import type { Plan } from '../../packing/types.js';
import { planDocument } from './plan-json.js';
import { planText } from './plan-table.js';

const empty: Plan = { newNodeClaims: [], existingNodes: [], unschedulable: [], pricePerHour: 0, lowerBoundPerHour: 0 };

test('plan: pods left to the next pass are listed apart from those that cannot be placed', () => {
  const plan: Plan = {
    ...empty,
    deferred: ['default/a', 'default/b'],
    resume: { from: 'default/a' },
    ignoredPreferences: [{ pod: 'default/c', honoured: 20, ignored: 980 }],
  };
  const text = planText(plan, 1);
  expect(text).toContain(
    '2 pods with many terms left for the next pass, which follows at once\n  default/a and 1 more',
  );
  expect(text).toContain('1 pod with more than 20 preferences: the heaviest are honoured\n  default/c: 980 of 1000');
  expect(text).not.toMatch(/cannot be placed|No pod is pending/);
  expect(planDocument(plan, 1)).toMatchObject({
    deferred: ['default/a', 'default/b'],
    ignoredPreferences: plan.ignoredPreferences,
    unschedulable: [],
  });
});

test('plan: without pods left to the next pass it does not mention them', () => {
  expect(planText(empty, 1)).toBe('No pod is pending.\n');
  expect(planDocument(empty, 1)).toMatchObject({ deferred: [], ignoredPreferences: [] });
});

test('plan: pods with scheduling gates are not pending, and are named', () => {
  expect(planText({ ...empty, gated: ['shop/a', 'shop/b'] }, 1)).toBe(
    '2 pods not planned for: they have scheduling gates\n  shop/a, shop/b\n\nNo other pod is pending.\n',
  );
});

test('plan: what the lower bound ignores is printed after the price', () => {
  const placed = {
    ...empty,
    existingNodes: [{ node: 'n', pods: ['default/a'] }],
    pricePerHour: 2,
    lowerBoundPerHour: 1,
  };
  const leftOut = ['spread over zone (3 pods)', 'how pods fit into whole nodes'];
  expect(planText({ ...placed, boundLeavesOut: leftOut }, 1)).toContain(
    'at most 100.0% above the lower bound, planned in 1.0 ms.\nThe lower bound ignores: spread over zone (3 pods), how pods fit into whole nodes.',
  );
  expect(planText({ ...placed, pricePerHour: 1 }, 1)).toContain(
    ', which is the lowest possible price, planned in 1.0 ms.\n',
  );
  expect(planDocument({ ...placed, boundLeavesOut: leftOut }, 1).boundLeavesOut).toEqual(leftOut);
  expect(planDocument(placed, 1).boundLeavesOut).toEqual([]);
});

test('plan: it is compared with plans of at most as many nodes that keep the same preferences', () => {
  const plan: Plan = {
    ...empty,
    existingNodes: [{ node: 'n', pods: ['default/a'] }],
    pricePerHour: 2,
    lowerBoundPerHour: 1,
    comparableLowerBoundPerHour: 1.6,
  };
  const planned =
    'planned in 1.0 ms.\nComparable plans have at most as many nodes, and keep the same preferences of pods.';
  const others = '(and 100.0% above the lower bound for any plan)';
  expect(planText(plan, 1)).toContain(
    `, at most 25.0% above the lower bound for comparable plans ${others}, ${planned}`,
  );
  expect(planText({ ...plan, comparableLowerBoundPerHour: 2 }, 1)).toContain(
    `, which is the lowest possible price of comparable plans ${others}, ${planned}`,
  );
  expect(planText({ ...plan, lowerBoundPerHour: 0 }, 1)).toContain(`for comparable plans, ${planned}`);
  expect(planDocument(plan, 1).comparableLowerBoundPerHour).toBe(1.6);
  expect(planDocument({ ...empty, pricePerHour: 2, lowerBoundPerHour: 1 }, 1).comparableLowerBoundPerHour).toBe(1);
});

test('plan: pods placed without some of their preferences are named', () => {
  const plan: Plan = {
    ...empty,
    relaxed: [
      { pod: 'default/a', level: 1, preferences: 3, relaxed: 1 },
      { pod: 'default/b', level: 2, preferences: 1, relaxed: 1 },
      { pod: 'default/c', level: 1, preferences: 0, relaxed: 0 },
    ],
  };
  expect(planText(plan, 1)).toContain(
    '2 pods placed without some of their preferences, so that they have a node\n  default/a and 1 more: 1 of 3 preferences relaxed',
  );
  expect(planDocument(plan, 1).relaxed).toEqual([
    { pod: 'default/a', preferences: 3, relaxed: 1 },
    { pod: 'default/b', preferences: 1, relaxed: 1 },
  ]);
  expect(planDocument(empty, 1).relaxed).toEqual([]);
});

test('plan: objects that cannot be parsed are named', () => {
  const setAside = [{ kind: 'NodePool', name: 'odd', error: 'no such operator' }];
  const text = planText({ ...empty, setAside }, 1);
  expect(text).toContain('1 object left out, which the engine cannot work with\n  NodePool odd: no such operator');
  expect(planDocument({ ...empty, setAside }, 1).setAside).toEqual(setAside);
});
