import { isBundled, runBundle } from './bundles.js';
import type * as Online from './online.js';

/**
 * The commands on a live cluster, from one script with V8's code cache if the build made them: reading and compiling
 * three thousand files takes a second of processor time.
 */
export async function loadOnline(): Promise<typeof Online> {
  if (!isBundled('online')) return import('./online.js');
  return runBundle('online', { compiled: true }).exports as typeof Online;
}

/**
 * The code cache of all code that runs when every command is loaded: called by the build.
 * @public
 */
export async function rehearseOnline(): Promise<Buffer> {
  const { script, exports } = runBundle('online', { compiled: false });
  const { liveCommands } = exports as typeof Online;
  for (const load of liveCommands.values()) (await load()).command();
  return script.createCachedData();
}
