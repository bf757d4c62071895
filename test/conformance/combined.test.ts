import { expect, test } from '@jest/globals';
import { combined } from './combined.js';

test.each(combined)('%s', async (_, { outcome, expected }) => {
  expect(await outcome()).toEqual(expected);
});
