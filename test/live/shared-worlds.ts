// Around test files that pass worlds on (shared-world.ts): names the folder that these are in, which their processes inherit, and ends those that are left.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopLaunchedWithThisProcess } from '../../tools/stack/processes.js';
import { stopStack } from '../../tools/stack/stop-stack.js';

export default function shareWorlds(): () => Promise<void> {
  stopLaunchedWithThisProcess();
  const folder = mkdtempSync(join(tmpdir(), 'stowage-test-worlds-'));
  process.env.STOWAGE_TEST_WORLDS = folder;
  const stacks = (): string[] => readdirSync(folder).map((name) => join(folder, name));
  return async () => {
    await Promise.all(stacks().map((stack) => stopStack(stack)));
    rmSync(folder, { recursive: true, force: true });
  };
}
