import { describe, expect, test } from '@jest/globals';
import type { CaseItem, CaseOffer } from '../../test/builders/bin-cases.js';
import { problemOf, realisticCase } from '../../test/builders/bin-cases.js';
import { check } from '../../test/builders/bin-check.js';
import { solveWithBound } from './solve.js';
import { surchargeFor, surchargeOf, withSurcharge } from './surcharge.js';
import type { BinProblem } from './problem.js';

const perBinOf = (problem: BinProblem): number => surchargeFor(problem, solveWithBound(problem, { units: 0 }).solution);

const offer = (price: number, cpu: number): CaseOffer => ({ price, capacity: [cpu], zone: 0, onDemand: true });
const small = offer(1, 1000);
const hundred: CaseItem[] = [{ demand: [1000], pods: 100 }];

describe('the surcharge that makes plans prefer fewer bins (provisioning/fewest-nodes)', () => {
  test("is a share of a bin's price that grows with how many bins could be saved", () => {
    // The largest bins hold 10, so that 90 of 100 bins might be saved.
    const perBin = perBinOf(problemOf([small, offer(20, 10_000)], hundred));
    expect(perBin).toBeCloseTo(surchargeOf({ price: 100, nodes: 100 }, 10), 9);
    expect(perBin).toBeCloseTo(0.6 * (90 / 108) ** 2, 9);
  });

  test.each([
    ['no offer is larger', problemOf([small], hundred)],
    ['pods are kept apart', problemOf([small, offer(20, 10_000)], hundred, { caps: [{ items: Int32Array.of(0), max: 1 }] })], // prettier-ignore
    ['there is nothing to pack', problemOf([small], [])],
  ])('is zero where %s', (_, problem) => {
    expect(perBinOf(problem)).toBe(0);
    expect(withSurcharge(problem, 0)).toBe(problem);
  });

  test('gives fewer bins for a slightly higher price, and breaks nothing', () => {
    const counts = [1, 2, 3, 4].map((seed) => {
      const problem = realisticCase(600, { apart: 0.2, seed });
      const cheapest = solveWithBound(problem, { units: 20_000 }).solution;
      const { solution } = solveWithBound(withSurcharge(problem, perBinOf(problem)), { units: 20_000 });
      const price = solution.bins.reduce((sum, { offer: k }) => sum + problem.offers.price[k]!, 0);
      expect(check(problem, { ...solution, price })).toEqual([]);
      expect(price).toBeLessThanOrEqual(cheapest.price * 1.25);
      return { few: solution.bins.length, cheapest: cheapest.bins.length };
    });
    const sum = (of: (each: (typeof counts)[number]) => number): number =>
      counts.reduce((all, each) => all + of(each), 0);
    for (const { few, cheapest } of counts) expect(few).toBeLessThan(cheapest);
    expect(sum(({ few }) => few)).toBeLessThan(0.9 * sum(({ cheapest }) => cheapest));
  });

  test('leaves no pod unplaced where larger bins use more of a limit', () => {
    // A hundred small bins use it up; so do 33 large ones, which hold 66 pods.
    const limits = [{ use: Float64Array.of(1, 3), remaining: 100 }];
    const problem = withSurcharge(problemOf([small, offer(2.01, 2000)], hundred, { limits }), 0.1);
    const { solution } = solveWithBound(problem, { units: 20_000 });
    expect(check(problem, solution)).toEqual([]);
    expect(solution.unplaced).toEqual(Int32Array.of(0));
  });
});
