// One real path, where this machine has or can download what it takes: pods wait, a node comes, they run, the node goes (test/live/kwok.test.ts).
import { spawnSync } from 'node:child_process';
import { root } from '../root.mjs';
import { leftOut } from './run.mjs';

const run = (...args) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status;

if (run('tools/stack/install.mjs', '--no-compile', 'kubernetes', 'temporal') === 0) {
  process.exitCode =
    run('node_modules/jest/bin/jest.js', '--selectProjects', 'live', '--', 'test/live/kwok.test.ts') ?? 1;
} else {
  console.error(
    'LEFT OUT: no node was launched on a real API server and Temporal. `npm run test:all` (or `npm run stack -- up`) compiles them once, which needs Go and some ten minutes.',
  );
  process.exitCode = leftOut;
}
