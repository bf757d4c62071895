import { setFlagsFromString } from 'node:v8';
import { isBundled, runBundle } from './bundles.js';
import type * as Offline from './offline.js';

/**
 * A single solve ends before optimised code pays for its compilation, and V8's initial young generation is too small
 * for it. Must be set early: setting flags later invalidates the code cache below.
 */
const oneRunFlags = ['--interrupt-budget=1000000', '--semi-space-growth-factor=16'];

/**
 * The commands on files. With `once` the process is tuned for one short run, and uses V8's code cache if the build made
 * one that fits this V8.
 */
export async function loadOffline({ once }: { once: boolean }): Promise<typeof Offline> {
  if (!isBundled('offline')) return import('./offline.js');
  if (once) tune();
  return runBundle('offline', { compiled: once }).exports as typeof Offline;
}

/**
 * The code cache of all code that ran: called by the build after a rehearsal.
 * @public
 */
export function rehearse(run: (commands: typeof Offline) => void): Buffer {
  tune();
  const { script, exports } = runBundle('offline', { compiled: false });
  run(exports as typeof Offline);
  return script.createCachedData();
}

function tune(): void {
  for (const flag of oneRunFlags) setFlagsFromString(flag);
}
