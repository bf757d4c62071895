import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { Choices, splitByCount, withRanges } from './choices.js';
import type { Market, MarketProblem } from './market.js';
import { cheapestBins } from '../../test/builders/cheapest-bins.js';

const units = 5_000_000;

type BinOf = readonly [price: number, ...capacity: number[]];

const marketOf = (items: readonly number[], bins: readonly BinOf[], requirements: number[] = []): Market => ({
  items: Int32Array.from(items),
  requirements,
  bins: bins.map(([price, ...capacity]) => ({
    price,
    capacity: Float64Array.from(capacity),
    use: new Float64Array(0),
  })),
});

function problemOf(
  pods: readonly { readonly pods: number; readonly amounts: readonly number[] }[],
  markets: Market[],
): MarketProblem {
  return {
    width: pods[0]!.amounts.length,
    weight: Float64Array.from(pods.flatMap(({ amounts }) => amounts)),
    pods: Int32Array.from(pods, (each) => each.pods),
    conflicts: pods.map(() => []),
    markets,
    requirements: [],
    limits: [],
  };
}

function boundOf(problem: MarketProblem, price = Infinity): number {
  const choices = new Choices(() => problem, [], { units, packed: [], otherBound: 0 });
  choices.decide(price);
  return choices.bound;
}

test('bound by choices: the number of bins is whole', () => {
  // Two of five pods to a bin are two bins and a half.
  const problem = problemOf([{ pods: 5, amounts: [4] }], [marketOf([0], [[1, 10]])]);
  expect(boundOf(problem)).toBeCloseTo(3, 3);
});

test('bound by choices: equal bins of other markets are counted together', () => {
  const markets = [marketOf([0, 1], [[1, 10]]), marketOf([0, 1], [[1, 10]]), marketOf([0, 1], [[1, 10]])];
  const problem = problemOf([{ pods: 5, amounts: [4] }, { pods: 2, amounts: [5] }], markets); // prettier-ignore
  expect(boundOf(problem)).toBeCloseTo(4, 3);
});

test('bound by choices: pods that require certain bins take whole ones', () => {
  const markets = [marketOf([0], [[1, 4]]), marketOf([0], [[3, 4]], [0])];
  const requirements = [{ items: Int32Array.of(0), least: 2 }];
  const problem = { ...problemOf([{ pods: 4, amounts: [1] }], markets), requirements };
  expect(boundOf(problem)).toBeCloseTo(3, 3);
});

test('bound by choices: nothing is split once the bound reaches the price', () => {
  const problem = problemOf([{ pods: 5, amounts: [4] }], [marketOf([0], [[1, 10]])]);
  expect(boundOf(problem, 2.5)).toBeCloseTo(2.5, 3);
});

test('bound by choices: bins bought beforehand are paid for and use limits', () => {
  const market = marketOf([0], [[5, 10]]);
  const bins = market.bins.map((bin) => ({ ...bin, use: Float64Array.of(2) }));
  const problem = { ...problemOf([{ pods: 9, amounts: [4] }], [{ ...market, bins }]), limits: [8] };
  const ranged = withRanges(problem, [{ kind: [{ market: 0, bin: 0 }], least: 2, most: 3 }]);
  expect(ranged.paid).toBe(10);
  expect(ranged.problem.limits).toEqual([4, 1, 2]);
  expect(ranged.problem.markets.map(({ count, bins: [bin] }) => [count, bin?.price, [...(bin?.use ?? [])]])).toEqual([
    [undefined, 5, [2, 1, 0]],
    [2, 0, [0, 0, 1]],
  ]);
});

test('bound by choices: a range of counts is split where its bins are a fraction', () => {
  const kind = [{ market: 0, bin: 0 }];
  const problem = problemOf([{ pods: 5, amounts: [4] }], [marketOf([0], [[1, 10]])]);
  expect(splitByCount(problem, [{ kind, least: 1, most: Infinity }], [{ market: 0, bin: 0, count: 1.5 }])).toEqual([
    [{ kind, least: 1, most: 2 }],
    [{ kind, least: 3, most: Infinity }],
  ]);
  expect(splitByCount(problem, [], [{ market: 0, bin: 0, count: 2 }])).toBeUndefined();
});

const amounts = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }));
const bins = fc.array(fc.tuple(fc.constantFrom(2, 3, 5), amounts), { maxLength: 2 });
const tiny = fc.record({
  items: fc.array(fc.record({ pods: fc.integer({ min: 1, max: 3 }), amounts }), { minLength: 1, maxLength: 3 }),
  bins,
  others: bins,
});

test('bound by choices: the bound is never above the lowest price of random problems', () => {
  fc.assert(
    fc.property(tiny, ({ items, bins: own, others }) => {
      const marketsOf = (list: typeof own): BinOf[] => list.map(([price, capacity]) => [price, ...capacity]);
      // The last one holds any pod, so that there is a packing.
      const problem = problemOf(items, [
        marketOf([...items.keys()], [...marketsOf(own), [5, 6, 6]]),
        marketOf([0], marketsOf(others)),
      ]);
      const least = cheapestBins(problem);
      const bound = boundOf(problem, least);
      expect(bound).toBeLessThanOrEqual(least * (1 + 1e-6));
    }),
    { numRuns: 200 },
  );
});
