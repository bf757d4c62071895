import { setFlagsFromString } from 'node:v8';
import { isBundled, runBundle } from './bundles.js';
import type * as Offline from './offline.js';

/**
 * A solve of a process of its own is over before optimised code pays for its compilation, and the young generation starts
 * too small for it. Setting them later than this makes the compiled code below unusable.
 */
const oneRunFlags = ['--interrupt-budget=1000000', '--semi-space-growth-factor=16'];

/**
 * The commands on files. With `once` the process is tuned for one short run, and starts from V8's code cache where the
 * build left one that fits this V8.
 */
export async function loadOffline({ once }: { once: boolean }): Promise<typeof Offline> {
  if (!isBundled('offline')) return import('./offline.js');
  if (once) tune();
  return runBundle('offline', { compiled: once }).exports as typeof Offline;
}

/**
 * The code cache of what has been run so far: called by the build after a rehearsal.
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
