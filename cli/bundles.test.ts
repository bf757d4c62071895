import { expect, test } from 'vitest';
import { isBundled } from './bundles.js';

test('sources have no bundle beside them: what tests run is what is written', () => {
  expect([isBundled('offline'), isBundled('online')]).toEqual([false, false]);
});
