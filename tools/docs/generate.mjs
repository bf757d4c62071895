// npm run generate [-- NAME...]: writes the files that are made of others; all of them, or those that are named.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../root.mjs';

/** Scripts of this folder. Those after `crds` read what it writes. */
const names = ['crds', 'chart', 'settings', 'disruption-policy', 'iam', 'forecast', 'conformance'];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`generate ${unknown.join(' ')}: no such name; there are ${names.join(', ')}`);
  process.exitCode = 2;
} else {
  const chosen = names.filter((name) => asked.length === 0 || asked.includes(name));
  const run = (name) =>
    spawnSync(process.execPath, [join(root, 'tools/docs', `${name}.mjs`)], { stdio: 'inherit' }).status;
  process.exitCode = chosen.some((name) => run(name) !== 0) ? 1 : 0;
}
