import { expect, test } from '@jest/globals';
import type { Candidate, Decision } from '../messages.js';
import { questionOf } from './command-text.js';

const candidate = (node: string, nodePool: string): Candidate => ({
  ...{ claim: { name: node, uid: node }, node, nodePool, pricePerHour: 0.1 },
  ...{ instanceType: 'm5.large', zone: 'a', capacityType: 'spot' },
});
const decision = { replacements: [], moves: [], podCount: 0, priceBefore: 0.2, priceAfter: 0, policy: 'careful' };

test.each([
  [['one', 'one'], 'approval to disrupt a, b, Empty (DisruptionPolicy careful asks)'],
  [['two', 'one'], 'approval to disrupt a, b of NodePools one, two together, Empty (DisruptionPolicy careful asks)'],
])('the text of a question names several NodePools (%s)', ([first = '', second = ''], what) => {
  const candidates = [candidate('a', first), candidate('b', second)];
  expect(questionOf({ reason: 'Empty', candidates } as never, decision as unknown as Decision).what).toBe(what);
});
