// Names the folder of the stacks that this run's test files share, which their processes inherit, and stops them at the end, unless
// STOWAGE_TEST_STACK was set by the caller, who wants to keep them.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopLaunchedWithThisProcess } from '../../tools/stack/processes.js';
import { stopStack } from '../../tools/stack/stop-stack.js';

export default function setup(): (() => Promise<void>) | undefined {
  if (process.env.STOWAGE_TEST_STACK !== undefined) return undefined;
  stopLaunchedWithThisProcess();
  const folder = join(tmpdir(), `stowage-test-${process.pid}`);
  process.env.STOWAGE_TEST_STACK = folder;
  return () => stop(folder);
}

async function stop(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) await stopStack(join(folder, name));
  rmSync(folder, { recursive: true, force: true });
}
