import { expect, test } from '@jest/globals';
import { pool } from '../../test/builders/consolidation.js';
import { isBalanced } from './balanced.js';
import type { CountedNode } from './fleet.js';

const balanced = pool('balanced', { disruption: { consolidationPolicy: 'Balanced' } });
const nodeOf = (nodePool: string, price: number, cost: number): CountedNode => ({
  nodePool,
  pool: nodePool.startsWith('balanced') ? balanced : pool(nodePool),
  price,
  counted: 'running',
  cost,
});

test.each<[string, number, readonly [string, number, number][], number, boolean]>([
  // The first `take` of the fleet are candidates.
  [
    'half of the share that is disturbed is just enough',
    1,
    [
      ['balanced', 1, 2],
      ['balanced', 1, 2],
    ],
    0.5,
    true,
  ],
  [
    'less is not',
    1,
    [
      ['balanced', 1, 2],
      ['balanced', 1, 2],
    ],
    0.49,
    false,
  ],
  [
    'more pods moved ask for more',
    1,
    [
      ['balanced', 1, 6],
      ['balanced', 1, 2],
    ],
    0.7,
    false,
  ],
  [
    'fewer for less',
    1,
    [
      ['balanced', 1, 2],
      ['balanced', 1, 6],
    ],
    0.3,
    true,
  ],
  [
    'nothing saved is never enough',
    1,
    [
      ['balanced', 1, 2],
      ['balanced', 1, 2],
    ],
    0,
    false,
  ],
  [
    'nothing that costs or is disturbed is none',
    1,
    [
      ['balanced', 0, 0],
      ['balanced', 0, 0],
    ],
    1,
    false,
  ],
  [
    'nothing is saved with candidates that cost nothing',
    1,
    [
      ['balanced', 0, 2],
      ['balanced', 1, 2],
    ],
    1,
    false,
  ],
  [
    'without a disturbed pod it is zero',
    1,
    [
      ['balanced', 1, 0],
      ['balanced', 1, 0],
    ],
    1,
    false,
  ],
  [
    'other NodePools count for nothing',
    1,
    [
      ['balanced', 1, 2],
      ['other', 9, 90],
      ['balanced', 1, 2],
    ],
    0.5,
    true,
  ],
  [
    'other NodePools ask for nothing',
    1,
    [
      ['other', 1, 2],
      ['balanced', 1, 2],
    ],
    0.01,
    true,
  ],
  // Both share the saving by their prices: 0.8 of the 1 that the first costs.
  [
    'candidates share the saving by price',
    2,
    [
      ['balanced', 1, 2],
      ['other', 4, 2],
      ['balanced', 1, 2],
    ],
    2.4,
    false,
  ],
  [
    'and a larger one',
    2,
    [
      ['balanced', 1, 2],
      ['other', 4, 2],
      ['balanced', 1, 2],
    ],
    2.6,
    true,
  ],
  [
    'several candidates of a NodePool count together',
    2,
    [
      ['balanced', 1, 2],
      ['balanced', 3, 2],
      ['balanced', 4, 4],
    ],
    2,
    true,
  ],
  [
    'and together too little',
    2,
    [
      ['balanced', 1, 2],
      ['balanced', 3, 2],
      ['balanced', 4, 4],
    ],
    1.9,
    false,
  ],
  [
    'every one of the NodePools has to find it so',
    2,
    [
      ['balanced', 1, 1],
      ['balanced-too', 1, 9],
      ['balanced', 1, 9],
      ['balanced-too', 1, 1],
    ],
    1,
    false,
  ],
])('Balanced: %s', (_, take, given, saving, expected) => {
  const fleet = given.map((each) => nodeOf(...each));
  expect(isBalanced(fleet, fleet.slice(0, take), saving)).toBe(expected);
});

test('Balanced: a node without a NodePool requires no saving', () => {
  const orphan: CountedNode = { ...nodeOf('balanced', 1, 2), pool: undefined };
  expect(isBalanced([orphan], [orphan], 0)).toBe(true);
});
