import { describe, expect, test } from '@jest/globals';
import { median } from './median.js';
import type { PlanResult } from './plans.js';
import { planTable, summaries, summarize, summaryMarkdown } from './report.js';

const judged = (price: number, placed = 10) => ({
  placed,
  nodes: 2,
  price,
  violations: [],
  preferencesKept: undefined,
  needsOrder: false,
});

function result(seed: number, price: number, theirs: number[], more: Partial<PlanResult> = {}): PlanResult {
  return {
    kind: 'generic',
    size: 10,
    seed,
    lowerBound: 1,
    stowage: {
      ...judged(price),
      coldMs: 10,
      warmMs: 5,
      wallMs: 100,
      maxRssMb: 80,
      statedBound: 1.1,
      comparableBound: 1.25,
    },
    karpenter: { runs: theirs.map((other) => ({ ...judged(other), ms: 1000 })), maxRssMb: 60 },
    comparable: { price: Math.min(...theirs), valid: true, needsOrder: false },
    problems: price > Math.min(...theirs) ? ['dearer: test'] : [],
    failed: {},
    ...more,
  };
}

describe('report of a benchmark', () => {
  test('gives as median a measured value', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2);
  });

  test('has means and worst cases against the best run', () => {
    const summary = summarize('generic', [result(1, 1.5, [3, 2]), result(2, 2.5, [2, 4])]);
    expect(summary).toMatchObject({ cases: 2, comparable: 2, dearer: 1, fewerPods: 0, brokenStowage: 0 });
    expect(summary.meanSaved).toBeCloseTo(0, 9); // a quarter saved, a quarter lost
    expect(summary.worstSaved).toBeCloseTo(-0.25, 9);
    expect(summary.worstOverBound).toBeCloseTo(1, 9); // over the better bound, 1.25
    expect(summary.medianOverBound).toBeCloseTo(0.2, 9); // the lower of two
    expect(summary.medianSpeedup).toBeCloseTo(100, 9);
    expect(summary.leastWarmSpeedup).toBeCloseTo(200, 9);
  });

  test('counts a case without a plan as broken, not as saved', () => {
    const failed: PlanResult = {
      kind: 'corner',
      size: 10,
      seed: 1,
      lowerBound: 0,
      problems: ['no plan: exit status 1'],
      failed: { stowage: 'exit status 1' },
    };
    expect(summarize('corner', [failed])).toMatchObject({ brokenStowage: 1, comparable: 0, meanSaved: undefined });
    expect(planTable([failed])).toContain('corner 10 #1');
  });

  test('has a line for all of several kinds of cases', () => {
    const all = summaries([result(1, 1, [2]), { ...result(1, 1, [2]), kind: 'corner' }]);
    expect(all.map(({ kind }) => kind)).toEqual(['generic', 'corner', 'all']);
    expect(summaryMarkdown(all).split('\n')).toHaveLength(5);
  });
});
