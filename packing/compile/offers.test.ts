import { expect, test } from '@jest/globals';
import { firstInReach } from './offers.js';

test.each([
  [[1, 1], 0],
  [[1, 4], 1],
  // The second row has the memory and the third the CPU: neither holds both, but the third is the first that may.
  [[3, 8], 2],
  [[4, 9], 3],
  [[9, 1], 4],
])('a search for room for %p begins at row %i: no row before it has enough of each resource', (usage, first) => {
  const rows = [0, 1, 2, 3];
  // The capacities are 2 and 2, 2 and 8, 4 and 4, 8 and 16.
  const reach = Float64Array.of(2, 2, 2, 8, 4, 8, 8, 16);
  expect(firstInReach({ rows, reach }, Float64Array.from(usage))).toBe(first);
});
