import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The clone's folder: benchmarks need its sources (the peer is a Go program), not only dist/. */
export function repositoryRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package-lock.json'))) {
    if (dirname(folder) === folder) throw new Error('npm run bench works inside a clone of the repository only');
    folder = dirname(folder);
  }
  return folder;
}
