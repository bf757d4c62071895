import { describe, expect, test } from 'vitest';
import { generate, type Kind } from '../cases/index.js';
import { compile } from '../../packing/compile/compiled.js';
import { packingInputOf } from '../builders/packing-input.js';

/** What one pass looks at: kinds of pods, choices of labels, and offerings for each. */
function work(kind: Kind, size: number) {
  const { classes, universe } = compile(packingInputOf(generate(kind, size, 1)));
  return { classes: classes.all.length, profiles: universe.profiles.length, rows: universe.rows.length };
}

// Rule `invariants/failures-are-contained`; `npm run bench -- generate` writes the same cases, docs/benchmarks.md has their times.
describe('more of something than any cluster has', () => {
  test('a pass looks at as many kinds of pods and label values of 3,000 as of 400', () => {
    expect(work('label-values', 3000)).toEqual(work('label-values', 400));
  });

  test('pods that are spread over 3,000 values cost what those over 400 do', () => {
    const few = work('spread-values', 400);
    const many = work('spread-values', 3000);
    expect([many.profiles, many.rows]).toEqual([few.profiles, few.rows]);
    expect(many.classes).toBeLessThanOrEqual(few.classes);
  });

  test('many-pools: each NodePool costs as much as the first', () => {
    const few = work('many-pools', 10);
    expect(few.profiles).toBe(10);
    expect(work('many-pools', 40)).toMatchObject({ profiles: 4 * few.profiles, rows: 4 * few.rows });
  });

  test('closed-pools: NodePools that no pod may use by its labels cost nothing where there are many', () => {
    expect(work('closed-pools', 10).profiles).toBe(10);
    expect(work('closed-pools', 40)).toMatchObject({ profiles: 0, rows: 0 });
  });
});
