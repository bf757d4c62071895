import { describe, expect, test } from '@jest/globals';
import { CoveringSimplex } from './simplex.js';

describe('CoveringSimplex solves the covering program', () => {
  test('covers two rows by the cheaper mix of columns, and its dual values are the prices of the rows', () => {
    // min 3a + 4b + 5c, a >= 6 alone in row 0, b >= 4 alone in row 1, c covers one of each.
    const simplex = new CoveringSimplex(Float64Array.of(6, 4), Float64Array.of(1, 1), Float64Array.of(3, 4));
    expect(simplex.enter([0, 1], [1, 1], 5, 7)).toBe(true);
    expect(simplex.enter([0, 1], [1, 1], 7, 8)).toBe(false);
    expect(6 * simplex.duals[0]! + 4 * simplex.duals[1]!).toBeCloseTo(4 * 5 + 2 * 3, 12);
    expect([...simplex.basis].sort()).toEqual([0, 7]);
    const level = [...simplex.basis].map((number, r) => [number, simplex.level[r]]);
    expect(level).toEqual(expect.arrayContaining([[7, 4], [0, 2]])); // prettier-ignore
  });

  test('allows a surplus in a row that is covered at no price', () => {
    const simplex = new CoveringSimplex(Float64Array.of(2, 10), Float64Array.of(1, 1), Float64Array.of(1, 9));
    simplex.enter([0, 1], [1, 1], 1, 5);
    while (simplex.enterSurplus());
    expect(Math.min(...simplex.duals)).toBeGreaterThanOrEqual(-1e-9);
    expect(2 * simplex.duals[0]! + 10 * simplex.duals[1]!).toBeCloseTo(10, 9);
  });
});
