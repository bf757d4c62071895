import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import * as exit from './exit.js';
import type * as Offline from './offline.js';
import type * as Online from './online.js';

/** The bundles of the command that a build makes (tools/build/build.mjs), each with V8's code cache beside it. */
type BundleName = 'offline' | 'online';

const pathOf = (name: BundleName, kind: 'cjs' | 'cache'): string =>
  fileURLToPath(new URL(`${name}.${kind}`, import.meta.url));

/** Whether the build made the bundle; sources and images run without. */
export const isBundled = (name: BundleName): boolean => existsSync(pathOf(name, 'cjs'));

/** Runs a bundle and returns its exports. With `compiled` it uses the code cache, if it fits this V8 and its flags. */
function runBundle(name: BundleName, { compiled }: { compiled: boolean }): { script: Script; exports: unknown } {
  const bundle = pathOf(name, 'cjs');
  const cache = pathOf(name, 'cache');
  const cachedData = compiled && existsSync(cache) ? readFileSync(cache) : undefined;
  // ASCII, as written by the build: one byte per character.
  const script = new Script(readFileSync(bundle, 'latin1'), {
    // The code cache contains the file name under which it was made.
    filename: `dist/cli/${name}.cjs`,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const nodeRequire = createRequire(bundle);
  // The error classes that main.ts catches must be identical in all bundles.
  const require = (id: string): unknown => (id === './exit.js' ? exit : nodeRequire(id));
  const module = { exports: {} };
  const dist = new URL('../', import.meta.url).href;
  const body = script.runInThisContext() as (...given: readonly unknown[]) => void;
  body(module.exports, require, module, dist);
  return { script, exports: module.exports };
}

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
