import { describe, expect, test } from 'vitest';
import { check } from '../../tools/bench/bins-check.js';
import type { BinProblem } from './problem.js';
import { firstFitDecreasing } from './first-fit-decreasing.js';

const problem = (more: Partial<BinProblem> = {}): BinProblem => ({
  dimensions: 1,
  offers: { count: 3, price: Float64Array.of(1, 4, 7), capacity: Float64Array.of(1, 5, 10) },
  items: {
    count: 2,
    pods: Int32Array.of(2, 3),
    demand: Float64Array.of(3, 1),
    allowed: [Uint32Array.of(0b111), Uint32Array.of(0b111)],
  },
  caps: [],
  conflicts: [],
  limits: [],
  openBins: [],
  ...more,
});

describe('packing into few bins', () => {
  test('puts everything into one bin, bought as the cheapest offer that holds it', () => {
    const solution = firstFitDecreasing(problem())!;
    expect(check(problem(), solution)).toEqual([]);
    expect(solution).toMatchObject({ price: 7, bins: [{ offer: 2 }] });
  });

  test.each<[string, Partial<BinProblem>, number]>([
    ['a cap', { caps: [{ items: Int32Array.of(0), max: 1 }] }, 2],
    ['a conflict', { conflicts: [[0, 1]] }, 2],
    [
      'offers that only one item may use',
      { items: { ...problem().items, allowed: [Uint32Array.of(0b100), Uint32Array.of(0b001)] } },
      4,
    ],
  ])('heeds %s', (_, more, bins) => {
    const made = problem(more);
    const solution = firstFitDecreasing(made)!;
    expect(check(made, solution)).toEqual([]);
    expect(solution.bins).toHaveLength(bins);
  });

  test('gives up where limits bind or a pod finds no bin', () => {
    expect(firstFitDecreasing(problem({ limits: [{ use: Float64Array.of(1, 1, 1), remaining: 9 }] }))).toBeUndefined();
    expect(
      firstFitDecreasing(
        problem({
          offers: { count: 1, price: Float64Array.of(1), capacity: Float64Array.of(1) },
          items: { ...problem().items, allowed: [Uint32Array.of(1), Uint32Array.of(1)] },
        }),
      ),
    ).toBeUndefined();
  });
});
