// Names the folder of the stack that this run's test files share, which their processes inherit, and stops it at the end, unless
// STOWAGE_TEST_STACK was set by the caller, who wants to keep it.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export default function setup() {
  if (process.env.STOWAGE_TEST_STACK !== undefined) return undefined;
  const folder = join(tmpdir(), `stowage-test-${process.pid}`);
  process.env.STOWAGE_TEST_STACK = folder;
  return () => stop(folder);
}

function stop(folder) {
  if (!existsSync(folder)) return;
  const stack = fileURLToPath(new URL('../../devstack/stack.mjs', import.meta.url));
  for (const name of readdirSync(folder)) {
    const stopped = spawnSync(process.execPath, [stack, 'down', '--dir', join(folder, name)], { encoding: 'utf8' });
    if (stopped.status !== 0) throw new Error(`The test stack in ${folder} was not stopped: ${stopped.stderr}`);
  }
  rmSync(folder, { recursive: true, force: true });
}
