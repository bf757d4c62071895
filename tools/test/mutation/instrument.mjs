// The mutants of some files: Stryker's, each behind a switch, so that all of them are in one build.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';

const silent = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };

/**
 * Puts switches into the text of files (paths from `root`). Returns the new text by absolute path, and the mutants: each with an id, its file, its first line, the mutator and what it
 * writes in place of what stood there.
 */
export async function instrument(root, files) {
  const instrumenter = new Instrumenter(silent);
  const inputs = files.map((file) => ({ name: file, mutate: true, content: readFileSync(join(root, file), 'utf8') }));
  const made = await instrumenter.instrument(inputs, { plugins: null, excludedMutations: [], ignorers: [] });
  return {
    texts: Object.fromEntries(made.files.map(({ name, content }) => [join(root, name), content])),
    mutants: made.mutants.map(({ id, fileName, location, mutatorName, replacement }) => ({
      id,
      file: fileName,
      line: location.start.line + 1,
      mutator: mutatorName,
      replacement,
    })),
  };
}
