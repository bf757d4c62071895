// Around test files that pass worlds on (shared-world.ts): names the folder that these are in, which their processes inherit, and ends those that are left.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signal } from '../../tools/stack/processes.js';
import { readState } from '../../tools/stack/stack-state.js';
import { stopStack } from '../../tools/stack/stop-stack.js';

export default function shareWorlds(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-test-worlds-'));
  process.env.STOWAGE_TEST_WORLDS = folder;
  const stacks = (): string[] => readdirSync(folder).map((name) => join(folder, name));
  // A run that is interrupted leaves nothing behind.
  const end = (): void => {
    for (const component of stacks().flatMap((stack) => readState(stack)?.components ?? []))
      signal(component, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  return async () => {
    await Promise.all(stacks().map((stack) => stopStack(stack)));
    process.off('exit', end);
    rmSync(folder, { recursive: true, force: true });
  };
}
