// npm run suite -- postgres [-- FILE...]: the live suites on Temporal's server of production with PostgreSQL, four history shards and a retention of a
// day, in place of its development server. Where PostgreSQL is not installed they count as skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

const suites = [
  ...['main-job', 'takeover', 'drift', 'consolidation', 'static-capacity'].map((name) => `test/live/${name}.test.ts`),
  'test/containment/missing-workflows.test.ts',
];
/** As tools/stack/postgresql.ts looks for it. */
const installations = '/usr/lib/postgresql';

const named = process.argv.slice(2);
const chosen = named.length > 0 ? named : suites;
const isInstalled =
  existsSync(installations) &&
  readdirSync(installations).some((version) => existsSync(join(installations, version, 'bin/initdb')));
const run = (command, args) =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, STOWAGE_ENGINE: 'postgres' } })
    .status ?? 1;

if (isInstalled) {
  const steps = [
    [process.execPath, ['tools/stack/install.mjs', 'kubernetes', 'moto', 'temporal-server']],
    ['npm', ['run', '-s', 'build']],
    ['npx', ['jest', '--maxWorkers=1', ...chosen, '--selectProjects', 'live']],
  ];
  process.exitCode = steps.reduce((failed, [command, args]) => failed || run(command, args), 0);
} else {
  console.log(`postgres: there is no PostgreSQL below ${installations} (on Debian and Ubuntu: apt install postgresql)`);
  console.log(`0 passed, 0 failed, ${chosen.length} skipped`);
}
