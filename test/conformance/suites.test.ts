import { describe, expect, jest, test } from '@jest/globals';
import { awsSuites, suites } from './index.js';

// The first case of a whole cluster bundles the workflows.
jest.setTimeout(180_000);

describe.each([...suites, ...awsSuites])('$path', ({ told }) => {
  const run = told.filter(({ outcome }) => outcome !== undefined);
  if (run.length > 0)
    test.each(run)('$title', async ({ outcome, expected }) => {
      expect(await outcome?.()).toEqual(expected);
    });
});
