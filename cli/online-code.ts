import { isBundled, runBundle } from './bundles.js';
import type * as Online from './online.js';

/**
 * The commands on a live cluster, from one script and V8's code cache of it where the build left them: reading and compiling
 * three thousand files takes a second of a processor.
 */
export async function loadOnline(): Promise<typeof Online> {
  if (!isBundled('online')) return import('./online.js');
  return runBundle('online', { compiled: true }).exports as typeof Online;
}

/**
 * The code cache of all that loading every command runs: called by the build.
 * @public
 */
export async function rehearseOnline(): Promise<Buffer> {
  const { script, exports } = runBundle('online', { compiled: false });
  const { liveCommands } = exports as typeof Online;
  for (const load of liveCommands.values()) (await load()).command();
  return script.createCachedData();
}
