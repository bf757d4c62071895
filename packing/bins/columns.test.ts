import { describe, expect, test } from '@jest/globals';
import { Columns } from './columns.js';

describe('columns of the covering program (possible contents of one bin)', () => {
  const columns = new Columns();
  const made = Array.from({ length: 200 }, (_, k) => ({
    index: [k % 3, 3 + (k % 2)],
    values: [1 + (k % 7), 2],
    cost: 5 + (k % 5),
  }));
  made.forEach((column, k) => columns.add(column, 1000 + k));

  test('are read back as they were added', () => {
    expect(columns.count).toBe(200);
    for (const [k, { index, values, cost }] of made.entries()) {
      const column = columns.at(k);
      expect([[...column.index], [...column.values], column.cost]).toEqual([index, values, cost]);
    }
  });

  test('keep the index that they were added with', () => {
    expect([columns.origin(0), columns.origin(199)]).toEqual([1000, 1199]);
  });

  test.each([[[1, 0.5, 2, 0.25, 1]], [[0.2, 0.9, 0.1, 2, 0]]])(
    'are found with the highest worth for their cost, at %j',
    (prices) => {
      const duals = Float64Array.from(prices);
      const rate = ({ index, values, cost }: (typeof made)[number]): number =>
        index.reduce((sum, row, k) => sum + duals[row]! * values[k]!, 0) / cost;
      const best = Math.max(...made.map(rate));
      expect(best).toBeGreaterThan(1);
      expect(rate(made[columns.best(duals, 0)]!)).toBeCloseTo(best, 12);
      expect(columns.best(duals, 150)).toBeGreaterThanOrEqual(150);
    },
  );

  test('are not found where none is worth more than its cost', () => {
    expect(columns.best(new Float64Array(5), 0)).toBe(-1);
  });
});
