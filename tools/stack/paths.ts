import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder, from wherever this module runs: the sources, dist/ or a bundle under node_modules/.cache. */
export function repositoryRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) {
      const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string };
      if (name === 'stowage') return folder;
    }
    if (dirname(folder) === folder) throw new Error('The stack runs inside a clone of the repository only.');
    folder = dirname(folder);
  }
}

/** Where the stack of this name keeps its logs, data, kubeconfigs and `stack.json`. */
export function stackFolder(name: string): string {
  const state = process.env['XDG_STATE_HOME'];
  return join(state === undefined || state === '' ? join(homedir(), '.local/state') : state, 'stowage', name);
}
