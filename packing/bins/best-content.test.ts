import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { ContentSearch } from './best-content.js';
import type { Contents } from './contents.js';

const manySteps = 1_000_000;
const allItems = (contents: Contents): Int32Array => Int32Array.from(contents.pods.keys());
const newBin = (...capacity: number[]) => ({
  capacity: Float64Array.from(capacity),
  multipliers: new Float64Array(capacity.length),
});

/** What the best content is worth, by trying all of them. */
function bestByTrying(
  { width, weight, pods, conflicts }: Contents,
  capacity: Float64Array,
  value: Float64Array,
): number {
  const count = new Int32Array(pods.length);
  const from = (item: number, room: Float64Array): number => {
    if (item === pods.length) return 0;
    let best = 0;
    for (let n = 0; n <= pods[item]!; n++) {
      const rest = room.map((amount, d) => amount - n * weight[item * width + d]!);
      const isApart = n > 0 && conflicts[item]!.some((other) => count[other]! > 0);
      if (isApart || rest.some((amount) => amount < 0)) break;
      count[item] = n;
      best = Math.max(best, n * value[item]! + from(item + 1, rest));
    }
    count[item] = 0;
    return best;
  };
  return from(0, capacity);
}

const item = fc.record({
  pods: fc.integer({ min: 1, max: 3 }),
  value: fc.integer({ min: 0, max: 20 }),
  amounts: fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 7 })),
});

test('bestContent finds the content of a bin worth most within its steps, and never states a worth below the best', () => {
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 6 }),
      fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 })),
      fc.boolean(),
      fc.constantFrom(0, 3, 70, manySteps),
      (items, room, apart, steps) => {
        const contents: Contents = {
          width: 2,
          weight: Float64Array.from(items.flatMap(({ amounts }) => amounts)),
          pods: Int32Array.from(items, ({ pods }) => pods),
          conflicts: items.map((_, i) => (apart && items.length > 1 && i < 2 ? [1 - i] : [])),
        };
        const value = Float64Array.from(items, (each) => each.value);
        const best = bestByTrying(contents, Float64Array.from(room), value);
        const { most, found } = new ContentSearch(contents).run(newBin(...room), allItems(contents), value, {
          floor: 0,
          steps,
        });
        expect(most).toBeGreaterThanOrEqual(best * (1 - 1e-9));
        expect(found?.worth ?? 0).toBeLessThanOrEqual(best * (1 + 1e-9));
        if (steps !== manySteps) return;
        expect(most).toBeLessThanOrEqual(best * (1 + 1e-3));
        expect(found?.worth ?? 0).toBeGreaterThanOrEqual(best * (1 - 1e-3));
      },
    ),
    { numRuns: 500 },
  );
});

test('bestContent ends in time with many small items of nearly equal worth per use', () => {
  // Two large ones, of which a bin holds one, and small ones that fill the rest of it in countless ways.
  const rows = [
    [50, 40680, 4000, 17180],
    [38, 40680, 4000, 17180],
    [134, 39120, 4000, 8590],
    [33, 17020, 2000, 8590],
    [51, 8510, 1000, 1074],
    [131, 6380, 750, 805],
    [17, 4250, 500, 537],
    [87, 2130, 250, 268],
    [20, 1700, 200, 1745],
    [5, 850, 100, 134],
    [14, 850, 100, 403],
    [39, 430, 50, 201],
  ] as const;
  const contents: Contents = {
    width: 2,
    weight: Float64Array.from(rows.flatMap(([, , cpu, memory]) => [cpu, memory])),
    pods: Int32Array.from(rows, ([pods]) => pods),
    conflicts: rows.map(() => []),
  };
  const value = Float64Array.from(rows, ([, worth]) => worth);
  const search = new ContentSearch(contents);
  const { most, found } = search.run(newBin(7850, 31296), allItems(contents), value, {
    floor: 73455,
    steps: manySteps,
  });
  expect(most).toBeLessThan(found!.worth * 1.001);
  expect(search.work).toBeLessThan(20_000);
});
