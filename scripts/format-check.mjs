// npm run format:check: Prettier on every file, but those that passed it before just as they are. What passed is kept in the user's cache
// folder; STOWAGE_CHECKED=false checks all.
import { spawnSync } from 'node:child_process';
import { Passed, keyOf } from './checks/passed.mjs';
import { filesOfClone, textOf } from './checks/sources.mjs';
import { root } from './test/root.mjs';

const files = filesOfClone().filter((file) => /\.(ts|mts|mjs|js|json|md|ya?ml)$/.test(file));
const common = keyOf(...['package-lock.json', '.prettierrc.json', '.prettierignore'].map(textOf));
const keys = new Map(files.map((file) => [file, keyOf(common, file, textOf(file))]));

const passed = new Passed('format');
const unknown = files.filter((file) => !passed.has(keys.get(file)));
console.log(`${unknown.length} of ${files.length} files to check`);
if (unknown.length > 0) {
  const prettier = ['prettier', '--list-different', '--ignore-unknown', ...unknown];
  const { status, stdout } = spawnSync('npx', prettier, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const different = new Set(stdout.split('\n'));
  if (status === 0 || status === 1)
    passed.add(unknown.filter((file) => !different.has(file)).map((file) => keys.get(file)));
  if (status !== 0) console.error(`${stdout}npm run format writes these as they should be.`);
  process.exitCode = status ?? 1;
}
