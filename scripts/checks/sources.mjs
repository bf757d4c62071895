// The files of this clone that git knows or would add.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../test/root.mjs';

/** Paths from the root. */
export function filesOfClone() {
  const git = (...args) =>
    execFileSync('git', ['ls-files', '-z', ...args], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  const files = `${git()}${git('--others', '--exclude-standard')}`.split('\0');
  return files.filter((file) => file !== '' && existsSync(join(root, file)));
}

export const textOf = (file) => readFileSync(join(root, file), 'utf8');
