import { describe, expect, test } from '@jest/globals';
import { awsSuites, suites } from './index.js';

const executed = [...suites, ...awsSuites].map(({ path, cases }) => ({
  path,
  run: cases.filter(({ outcome }) => outcome !== undefined),
}));

// The first case of a whole cluster bundles the workflows.
describe.each(executed.filter(({ run }) => run.length > 0))('$path', ({ run }) => {
  test.each(run)('$title', async ({ outcome, expected }) => {
    expect(await outcome?.()).toEqual(expected);
  });
});
