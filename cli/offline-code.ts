import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import * as exit from './exit.js';
import type * as Offline from './offline.js';

/**
 * A solve of a process of its own is over before optimised code pays for its compilation, and the young generation starts
 * too small for it. Setting them later than this makes the compiled code below unusable.
 */
const oneRunFlags = ['--interrupt-budget=1000000', '--semi-space-growth-factor=16'];

const bundle = fileURLToPath(new URL('offline.cjs', import.meta.url));
const compiled = fileURLToPath(new URL('offline.cache', import.meta.url));

/**
 * The commands on files. With `once` the process is tuned for one short run, and starts from V8's code cache where the
 * build left one that fits this V8.
 */
export async function loadOffline({ once }: { once: boolean }): Promise<typeof Offline> {
  if (!existsSync(bundle)) return import('./offline.js');
  return runBundle(once).commands;
}

/**
 * The code cache of what has been run so far: called by the build after a rehearsal.
 * @public
 */
export function rehearse(run: (commands: typeof Offline) => void): Buffer {
  const { script, commands } = runBundle(true);
  run(commands);
  return script.createCachedData();
}

function runBundle(once: boolean): { script: Script; commands: typeof Offline } {
  if (once) for (const flag of oneRunFlags) setFlagsFromString(flag);
  const cachedData = once && existsSync(compiled) ? readFileSync(compiled) : undefined;
  const code = `(function (exports, require, module) {${readFileSync(bundle, 'utf8')}\n})`;
  const script = new Script(code, { filename: bundle, ...(cachedData === undefined ? {} : { cachedData }) });
  const nodeRequire = createRequire(bundle);
  // What main.ts catches must be of one class whoever throws it.
  const require = (name: string): unknown => (name === './exit.js' ? exit : nodeRequire(name));
  const module = { exports: {} };
  const body = script.runInThisContext() as (exports: object, require: unknown, module: object) => void;
  body(module.exports, require, module);
  return { script, commands: module.exports as typeof Offline };
}
