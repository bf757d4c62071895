import { describe, expect, test } from '@jest/globals';
import { cheapestForAll } from './one-bin.js';
import type { BinProblem } from './problem.js';

/** Offers of 2, 4 and 8 for 2, 5 and 6 dollars; two items of 1 and 3 each. */
function problem(more: Partial<BinProblem> = {}): BinProblem {
  const any = Uint32Array.of(0b111);
  return {
    dimensions: 1,
    offers: { count: 3, price: Float64Array.of(2, 5, 6), capacity: Float64Array.of(2, 4, 8) },
    items: { count: 2, pods: Int32Array.of(1, 1), demand: Float64Array.of(1, 3), allowed: [any, any] },
    caps: [],
    conflicts: [],
    limits: [],
    ...more,
  };
}

const both = Int32Array.of(0, 1);

describe('cheapestForAll: the cheapest offer that holds all items', () => {
  test.each<[string, Partial<BinProblem>, number | undefined]>([
    ['the cheapest that holds the sum', {}, 1],
    ['items that may not share a bin', { conflicts: [[0, 1]] }, undefined],
    ['a cap below their number', { caps: [{ items: both, max: 1 }] }, undefined],
    ['a cap at their number', { caps: [{ items: both, max: 2 }] }, 1],
    ['a limit that the cheapest exceeds', { limits: [{ use: Float64Array.of(1, 9, 1), remaining: 5 }] }, 2],
    [
      'nothing large enough',
      { offers: { count: 1, price: Float64Array.of(2), capacity: Float64Array.of(2) } },
      undefined,
    ],
  ])('%s', (_, more, offer) => {
    expect(cheapestForAll(problem(more))).toBe(offer);
  });

  test('considers only offers that every item may use', () => {
    const { items } = problem();
    const allowed = [Uint32Array.of(0b111), Uint32Array.of(0b100)];

    expect(cheapestForAll(problem({ items: { ...items, allowed } }))).toBe(2);
    expect(
      cheapestForAll(problem({ items: { ...items, allowed: [Uint32Array.of(0b010), allowed[1]!] } })),
    ).toBeUndefined();
  });
});
