// npm run format:check: Prettier on every file, but those that passed it before just as they are. What passed is kept in the user's cache
// folder; STOWAGE_CHECKED=false checks all.
import { spawnSync } from 'node:child_process';
import { checkUnknown, keyOf } from './checks/passed.mjs';
import { filesOfClone, textOf } from './checks/sources.mjs';
import { root } from './test/root.mjs';

const files = filesOfClone().filter((file) => /\.(ts|mts|mjs|js|json|md|ya?ml)$/.test(file));
const common = keyOf(...['package-lock.json', '.prettierrc.json', '.prettierignore'].map(textOf));
const keys = new Map(files.map((file) => [file, keyOf(common, file, textOf(file))]));

const allPass = await checkUnknown('format', keys, (unknown) => {
  const prettier = ['prettier', '--list-different', '--ignore-unknown', ...unknown];
  const { status, stdout } = spawnSync('npx', prettier, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status === 0) return [];
  console.error(`${stdout}npm run format writes these as they should be.`);
  // It lists what differs, and ends otherwise where it could not read all: then nothing is known to pass.
  return status === 1 ? stdout.split('\n').filter((line) => line !== '') : unknown;
});
process.exitCode = allPass ? 0 : 1;
