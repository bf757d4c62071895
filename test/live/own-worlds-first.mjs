import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/** Calls that put the tests of a file on a world that files pass on (shared-world.ts). */
const shared = /\b(onSharedWorld|sharedContainment)\(/;

/** Jest's own order, but that files which pass worlds on follow one another at the end: a world that waits for its next file costs as well. */
export default class OwnWorldsFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isShared = ({ context, path }) =>
      context.config.displayName?.name === 'live' && shared.test(readFileSync(path, 'utf8'));
    return [...sorted.filter((test) => !isShared(test)), ...sorted.filter(isShared)];
  }
}
