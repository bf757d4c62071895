import { expect, test } from 'vitest';
import { withRecorded } from './recorded.js';

const past = (nodePool: string, at: number) => ({ nodePool, at });
const no = (at: number, ...pools: string[]) => ({ at, nodes: pools.map((nodePool) => ({ nodePool })) });

test('what is recorded of a NodePool takes the place of what is known of it, but for what is younger', () => {
  const known = {
    pastDisruptions: [past('a', 1), past('a', 9), past('b', 1)],
    refused: [no(2, 'a'), no(8, 'a'), no(2, 'b')],
  };
  const recorded = { pastDisruptions: [past('a', 3)], refused: [no(5, 'a', 'b')], pools: ['a'] };
  expect(withRecorded(known, recorded)).toEqual({
    pastDisruptions: [past('a', 3), past('a', 9), past('b', 1)],
    refused: [no(5, 'a', 'b'), no(8, 'a'), no(2, 'b')],
  });
});

test('what is recorded of all comes to what is known', () => {
  const known = { pastDisruptions: [past('a', 1)], refused: [no(2, 'a')] };
  expect(withRecorded(known, { pastDisruptions: [past('a', 3)], refused: [no(2, 'a'), no(4, 'b')] })).toEqual({
    pastDisruptions: [past('a', 3), past('a', 1)],
    refused: [no(2, 'a'), no(4, 'b')],
  });
});
