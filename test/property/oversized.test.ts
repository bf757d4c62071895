import { describe, expect, test } from '@jest/globals';
import { generate, type Kind } from '../cases/index.js';
import { compile } from '../../packing/compile/compiled.js';
import { packingInputOf } from '../builders/packing-input.js';

/** What one pass looks at: kinds of pods, choices of labels, and offerings for each. */
function work(kind: Kind, size: number) {
  const { classes, universe } = compile(packingInputOf(generate(kind, size, 1)));
  return { classes: classes.all.length, profiles: universe.profiles.length, rows: universe.rows.length };
}

// Rule `invariants/failures-are-contained`; `npm run bench -- generate` writes the same cases, docs/benchmarks.md has their times.
describe('more objects of one kind than any cluster has', () => {
  test('a planning pass examines no more classes of pods and label values for 3,000 values than for 400', () => {
    expect(work('label-values', 3000)).toEqual(work('label-values', 400));
  });

  test('spreading pods over 3,000 zones takes no more work than over 400', () => {
    const few = work('spread-values', 400);
    const many = work('spread-values', 3000);
    expect([many.profiles, many.rows]).toEqual([few.profiles, few.rows]);
    expect(many.classes).toBeLessThanOrEqual(few.classes);
  });

  test('the last of many NodePools takes no more work than the first', () => {
    const few = work('many-pools', 10);
    expect(few.profiles).toBe(10);
    expect(work('many-pools', 40)).toMatchObject({ profiles: 4 * few.profiles, rows: 4 * few.rows });
  });

  test("among many NodePools those that no pod's labels allow take no work", () => {
    expect(work('closed-pools', 10).profiles).toBe(10);
    expect(work('closed-pools', 40)).toMatchObject({ profiles: 0, rows: 0 });
  });
});
