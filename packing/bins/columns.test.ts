import { describe, expect, test } from 'vitest';
import { Columns } from './columns.js';

describe('columns of a program', () => {
  const columns = new Columns();
  const made = Array.from({ length: 200 }, (_, k) => ({
    index: [k % 3, 3 + (k % 2)],
    values: [1 + (k % 7), 2],
    cost: 5 + (k % 5),
  }));
  for (const column of made) columns.add(column);

  test('come back as they were given', () => {
    expect(columns.count).toBe(200);
    for (const [k, { index, values, cost }] of made.entries()) {
      const column = columns.at(k);
      expect([[...column.index], [...column.values], column.cost]).toEqual([index, values, cost]);
    }
  });

  test.each([[[0, 0, 0, 0, 0]], [[1, 0.5, 2, 0.25, 1]], [[0.2, 0.9, 0.1, 2, 0]]])(
    'are found one after the other where they cost less than they are worth at %j',
    (prices) => {
      const duals = Float64Array.from(prices);
      const worth = ({ index, values }: (typeof made)[number]): number =>
        index.reduce((sum, row, k) => sum + duals[row]! * values[k]!, 0);
      const found: number[] = [];
      for (let k = columns.firstUnder(duals, 0); k < columns.count; k = columns.firstUnder(duals, k + 1)) found.push(k);
      expect(found).toEqual([...made.keys()].filter((k) => made[k]!.cost < worth(made[k]!) - 1e-6));
    },
  );
});
