import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { cheapestBins } from '../../test/builders/cheapest-bins.js';
import type { MarketProblem } from './market.js';
import { patternBound } from './pattern-bound.js';

const units = 1_000_000;

/** One market of bins, for items of one amount. */
function problemOf(
  pods: number[],
  sizes: number[],
  bins: readonly (readonly [price: number, size: number])[],
): MarketProblem {
  return {
    width: 1,
    weight: Float64Array.from(sizes),
    pods: Int32Array.from(pods),
    conflicts: pods.map(() => []),
    markets: [
      {
        items: Int32Array.from(pods.keys()),
        requirements: [],
        bins: bins.map(([price, size]) => ({ price, capacity: Float64Array.of(size), use: new Float64Array(0) })),
      },
    ],
    requirements: [],
    limits: [],
  };
}

test('patternBound: pods that fill no bin together are counted as whole', () => {
  // Two of 6 do not share a bin of 10, though 60% of a bin each is less than two bins.
  expect(patternBound(problemOf([4], [6], [[1, 10]]), units).bound).toBeCloseTo(4, 3);
});

test('patternBound: pods that may not share a bin need one each', () => {
  const apart = { ...problemOf([1, 1], [1, 1], [[1, 10]]), conflicts: [[1], [0]] };
  expect(patternBound(apart, units).bound).toBeCloseTo(2, 3);
});

test('patternBound: pods that require certain bins are paid for there', () => {
  const { markets, ...rest } = problemOf([4], [1], [[1, 4]]);
  const dear = { ...markets[0]!, requirements: [0], bins: [{ ...markets[0]!.bins[0]!, price: 3 }] };
  const problem = { ...rest, markets: [...markets, dear], requirements: [{ items: Int32Array.of(0), least: 2 }] };
  // Half a bin of either kind; the linear program does not know that bins are whole.
  expect(patternBound(problem, units).bound).toBeCloseTo(0.5 * 1 + 0.5 * 3, 3);
});

test('patternBound: a limit leaves no more bins of a kind than it allows', () => {
  const problem = problemOf([4], [1], [[1, 1], [3, 1]]); // prettier-ignore
  const [market] = problem.markets;
  const bins = market!.bins.map((bin, b) => ({ ...bin, use: Float64Array.of(b === 0 ? 1 : 0) }));
  const limited = { ...problem, markets: [{ ...market!, bins }], limits: [2] };
  expect(patternBound(limited, units).bound).toBeCloseTo(2 * 1 + 2 * 3, 3);
});

test('patternBound: existing bins take pods at no price, as many as they hold', () => {
  const problem = problemOf([5], [4], [[1, 10]]);
  const there = {
    ...problem.markets[0]!,
    bins: [{ price: 0, capacity: Float64Array.of(7), use: new Float64Array(0) }],
  };
  const withTwo = { ...problem, markets: [...problem.markets, { ...there, count: 2 }] };
  expect(patternBound(withTwo, units).bound).toBeCloseTo(1.5, 3);
});

test('patternBound: a bin is bought only for pods that may open it', () => {
  const problem = problemOf([2, 2], [4, 4], [[1, 8]]);
  const opened = { ...problem.markets[0]!, openers: Int32Array.of(0) };
  const dear = { ...problem.markets[0]!, bins: [{ ...problem.markets[0]!.bins[0]!, price: 5 }] };
  expect(patternBound({ ...problem, markets: [opened, dear] }, units).bound).toBeCloseTo(2, 3);
});

const amounts = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }));
const tiny = fc.record({
  items: fc.array(fc.record({ pods: fc.integer({ min: 1, max: 3 }), amounts }), { minLength: 1, maxLength: 3 }),
  bins: fc.array(fc.record({ price: fc.integer({ min: 1, max: 9 }), amounts }), { maxLength: 3 }),
  apart: fc.boolean(),
  units: fc.constantFrom(50, 2000, units),
});

test('patternBound: the bound is never above the lowest price of random problems, however little work is allowed', () => {
  fc.assert(
    fc.property(tiny, ({ items, bins, apart, units: work }) => {
      const all = Int32Array.from(items.keys());
      const problem: MarketProblem = {
        width: 2,
        weight: Float64Array.from(items.flatMap((item) => item.amounts)),
        pods: Int32Array.from(items, ({ pods }) => pods),
        conflicts: items.map((_, item) => (apart && items.length > 1 && item < 2 ? [1 - item] : [])),
        // The last one holds any pod, so that there is a packing.
        markets: [{ items: all, requirements: [], bins: [...bins, { price: 9, amounts: [6, 6] }].map((bin) => ({
          price: bin.price, capacity: Float64Array.from(bin.amounts), use: new Float64Array(0) })) }], // prettier-ignore
        requirements: [],
        limits: [],
      };
      const least = cheapestBins(problem);
      const { bound, relaxation } = patternBound(problem, work);
      expect(bound).toBeLessThanOrEqual(least * (1 + 1e-6));
      expect(bound).toBeLessThanOrEqual(relaxation * (1 + 1e-6));
      // With enough work it equals the optimum of the linear program.
      if (work === units) expect(bound).toBeGreaterThan(relaxation * 0.999);
    }),
    { numRuns: 300 },
  );
});
