import { expect, test } from '@jest/globals';
import { affordable } from './affordable.js';
import type { FleetNode } from './fleet.js';

const nodeOf = (price: number, nodePool = 'default', more: Partial<FleetNode> = {}): FleetNode =>
  ({ price, nodePool, removable: true, onlyEmpty: false, ...more }) as FleetNode;
const upTo =
  (most: Readonly<Record<string, number>>) =>
  ({ nodePool }: { readonly nodePool: string }) =>
    most[nodePool]!;

test.each<[string, readonly FleetNode[], Readonly<Record<string, number>>, number]>([
  ['what all nodes cost where all may go at once', [nodeOf(1), nodeOf(3), nodeOf(2)], { default: 9 }, 6],
  ['four fifths of the dearest that budgets let go', [nodeOf(3), nodeOf(1), nodeOf(2)], { default: 2 }, 0.8 * 5],
  ['of each NodePool by its own budget', [nodeOf(1, 'a'), nodeOf(3, 'a'), nodeOf(2, 'b')], { a: 1, b: 1 }, 0.8 * 5],
  ['the price of a node where one goes alone', [nodeOf(1), nodeOf(3)], { default: 1 }, 3],
  ['nothing where budgets let none go', [nodeOf(1)], { default: 0 }, 0],
  [
    'nothing for nodes that stay',
    [nodeOf(1, 'a', { removable: false }), nodeOf(1, 'a', { onlyEmpty: true })],
    { a: 9 },
    0,
  ],
  ['for a hundred at most', Array.from({ length: 120 }, () => nodeOf(1)), { default: 999 }, 80],
])('a consolidation launch may cost %s', (_, nodes, most, expected) => {
  expect(affordable([...nodes], upTo(most))).toBeCloseTo(expected, 9);
});
