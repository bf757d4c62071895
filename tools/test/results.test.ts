import { expect, test } from '@jest/globals';
// @ts-expect-error: a script without types
import { verdictOf as untyped } from './results.mjs';

interface Run {
  readonly failed: readonly { readonly name: string }[];
  readonly unstable: readonly string[];
  readonly leftOut: readonly { readonly name: string }[];
}
const verdictOf = untyped as (run: Run) => string;

test('a file that passes only when run again is a failure with a name', () => {
  expect(verdictOf({ failed: [{ name: 'live' }], unstable: ['test/live/drift.test.ts'], leftOut: [] })).toBe(
    'failed: live; failed, and passed when run again alone: test/live/drift.test.ts',
  );
});

test('a run with a step left out says so', () => {
  expect(verdictOf({ failed: [], unstable: [], leftOut: [{ name: 'first-node' }] })).toBe(
    'every step passed; LEFT OUT: first-node (see above)',
  );
});
