import { describe, expect, test } from '@jest/globals';
import { suites } from './index.js';

describe.each(suites)('$path', ({ told }) => {
  const run = told.filter(({ outcome }) => outcome !== undefined);
  if (run.length > 0)
    test.each(run)('$title', async ({ outcome, expected }) => {
      expect(await outcome?.()).toEqual(expected);
    });
});
