import { readFileSync } from 'node:fs';
import { BaseSequencer } from 'vitest/node';

/** Calls that put the tests of a file on a world that files pass on (shared-world.ts). */
const shared = /\b(onSharedWorld|sharedContainment)\(/;

/** Vitest's own order, but that files which pass worlds on follow one another at the end: a world that waits for its next file costs as well. */
export class OwnWorldsFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    const isShared = ({ project, moduleId }) => project.name === 'live' && shared.test(readFileSync(moduleId, 'utf8'));
    return [...sorted.filter((file) => !isShared(file)), ...sorted.filter(isShared)];
  }
}
