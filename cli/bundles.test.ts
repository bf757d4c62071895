import { expect, test } from 'vitest';
import { isBundled } from './bundles.js';

test('no bundle lies beside the sources, so tests run the sources', () => {
  expect([isBundled('offline'), isBundled('online')]).toEqual([false, false]);
});
