import { expect, test } from '@jest/globals';
import { backOffMs } from './back-off.js';

test('a back-off doubles up to its maximum, however many failures', () => {
  const waits = [1, 2, 3, 4, 5, 1e9].map((failures) => backOffMs(failures, { firstMs: 1000, longestMs: 10_000 }));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
});
