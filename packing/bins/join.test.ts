import { describe, expect, test } from '@jest/globals';
import type { CaseItem, CaseOffer } from '../../test/builders/bin-cases.js';
import { problemOf } from '../../test/builders/bin-cases.js';
import { compileProblem } from './compile.js';
import { joinBins } from './join.js';
import { LimitUsage } from './limits.js';
import { binsIn, type BinGroup } from './plan.js';
import type { BinProblem } from './problem.js';

const offer = (price: number, cpu: number): CaseOffer => ({ price, capacity: [cpu], zone: 0, onDemand: true });
const small = offer(1, 1000);

/** How many bins are left of a hundred with one pod each. */
function joined(offers: CaseOffer[], more: Partial<BinProblem> = {}): number {
  const items: CaseItem[] = [{ demand: [1000], pods: 100 }];
  const problem = problemOf(offers, items, more);
  const compiled = compileProblem(problem);
  const groups: BinGroup[] = [{ offer: 0, items: Int32Array.of(0), pods: Int32Array.of(1), times: 100 }];
  const limitUsage = new LimitUsage(compiled);
  limitUsage.use(0, 100);
  joinBins(compiled, groups, limitUsage);
  return binsIn(groups);
}

describe('joinBins replaces several bins by a larger one', () => {
  test('joins equal bins where one larger bin costs no more', () => {
    expect(joined([small, offer(2, 2000)])).toBe(50);
    expect(joined([small, offer(2.01, 2000)])).toBe(100);
  });

  test('joins joined bins again, and several at once where no size lies between', () => {
    expect(joined([small, offer(2, 2000), offer(4, 4000)])).toBe(25);
    expect(joined([small, offer(4, 4000)])).toBe(25);
  });

  test('joins no bins beyond caps and limits', () => {
    expect(joined([small, offer(2, 2000)], { caps: [{ items: Int32Array.of(0), max: 1 }] })).toBe(100);
    expect(joined([small, offer(2, 2000)], { limits: [{ use: Float64Array.of(0, 1), remaining: 3 }] })).toBe(97);
  });
});
