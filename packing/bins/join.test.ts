import { describe, expect, test } from 'vitest';
import type { CaseItem, CaseOffer } from '../../bench/bins-cases.js';
import { problemOf, realisticCase } from '../../bench/bins-cases.js';
import { check } from '../../bench/bins-check.js';
import { compileProblem } from './compile.js';
import { nearlyCheapest } from './fewer.js';
import { joinWithin } from './join.js';
import { LimitUsage } from './limits.js';
import { binsIn, priceOf, type BinGroup } from './plan.js';
import type { BinProblem } from './problem.js';
import { solveWithBound } from './solve.js';

const offer = (price: number, cpu: number): CaseOffer => ({ price, capacity: [cpu], zone: 0, onDemand: true });
const small = offer(1, 1000);

/** A hundred bins of one pod each, as one group, joined for no more than `spare`. */
function joined(offers: CaseOffer[], spare: number, more: Partial<BinProblem> = {}): { bins: number; extra: number } {
  const items: CaseItem[] = [{ demand: [1000], pods: 100 }];
  const problem = problemOf(offers, items, more);
  const compiled = compileProblem(problem);
  const groups: BinGroup[] = [{ offer: 0, items: Int32Array.of(0), pods: Int32Array.of(1), times: 100 }];
  const limitUsage = new LimitUsage(compiled);
  limitUsage.use(0, 100);
  joinWithin(compiled, groups, limitUsage, spare);
  return { bins: binsIn(groups), extra: priceOf(compiled, groups) - 100 };
}

describe('joinWithin', () => {
  test('joins equal bins as often as they are there', () => {
    expect(joined([small, offer(2.01, 2000)], 1)).toEqual({ bins: 50, extra: expect.closeTo(0.5, 9) });
  });

  test('spends no more than is to spare', () => {
    expect(joined([small, offer(2.01, 2000)], 0.2)).toEqual({ bins: 80, extra: expect.closeTo(0.2, 9) });
    expect(joined([small, offer(2.01, 2000)], 0)).toEqual({ bins: 100, extra: 0 });
  });

  test('goes on with what it has joined, and takes several at once where no size lies between', () => {
    expect(joined([small, offer(2.01, 2000), offer(4.03, 4000)], 1)).toEqual({
      bins: 25,
      extra: expect.closeTo(0.75, 9),
    });
    expect(joined([small, offer(4.03, 4000)], 1)).toEqual({ bins: 25, extra: expect.closeTo(0.75, 9) });
  });

  test('keeps to caps and limits', () => {
    expect(joined([small, offer(2.01, 2000)], 1, { caps: [{ items: Int32Array.of(0), max: 1 }] }).bins).toBe(100);
    expect(joined([small, offer(2.01, 2000)], 1, { limits: [{ use: Float64Array.of(0, 1), remaining: 3 }] }).bins).toBe(
      97,
    );
  });
});

describe('fewest bins', () => {
  // Rule `provisioning/fewest-nodes`.
  test('of a packing cost at most the margin more, and break nothing; of most packings there are fewer', () => {
    const fewer = [1, 2, 3, 4].map((seed) => {
      const problem = realisticCase(600, { apart: 0.2, seed });
      const cheapest = solveWithBound(problem, { units: 20_000 }).solution;
      const fewest = solveWithBound(problem, { units: 20_000, fewest: 1.01 }).solution;
      expect(check(problem, fewest)).toEqual([]);
      expect(fewest.price).toBeLessThanOrEqual(cheapest.price * nearlyCheapest + 1e-9);
      return cheapest.bins.length - fewest.bins.length;
    });
    expect(Math.min(...fewer)).toBeGreaterThanOrEqual(0);
    expect(fewer.filter((bins) => bins > 0).length).toBeGreaterThanOrEqual(3);
  });

  test('leave out no pod where larger bins use more of a limit', () => {
    const items: CaseItem[] = [{ demand: [1000], pods: 100 }];
    // A hundred small bins use it up; so do 33 large ones, which hold 66 pods.
    const limits = [{ use: Float64Array.of(1, 3), remaining: 100 }];
    const problem = problemOf([small, offer(2.01, 2000)], items, { limits });
    const { solution } = solveWithBound(problem, { units: 20_000, fewest: 1.01 });
    expect(check(problem, solution)).toEqual([]);
    expect(solution.unplaced).toEqual(Int32Array.of(0));
    expect(solution.bins.flatMap(({ pods }) => [...pods]).reduce((sum, count) => sum + count, 0)).toBe(100);
  });
});
