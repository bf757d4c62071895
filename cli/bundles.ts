import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import * as exit from './exit.js';

/** What a build (tools/build/build.mjs) bundles of the command, each with V8's code cache of it beside. */
export type BundleName = 'offline' | 'online';

const pathOf = (name: BundleName, kind: 'cjs' | 'cache'): string =>
  fileURLToPath(new URL(`${name}.${kind}`, import.meta.url));

/** Whether the build left one; sources and images run without. */
export const isBundled = (name: BundleName): boolean => existsSync(pathOf(name, 'cjs'));

/** Runs a bundle and gives what it exports. With `compiled` it starts from the code cache, where that fits this V8 and its flags. */
export function runBundle(name: BundleName, { compiled }: { compiled: boolean }): { script: Script; exports: unknown } {
  const bundle = pathOf(name, 'cjs');
  const cache = pathOf(name, 'cache');
  const cachedData = compiled && existsSync(cache) ? readFileSync(cache) : undefined;
  // ASCII, as the build writes it: a byte a character, read and kept.
  const script = new Script(readFileSync(bundle, 'latin1'), {
    // The code cache has the name that it was made under, wherever that was.
    filename: `dist/cli/${name}.cjs`,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const nodeRequire = createRequire(bundle);
  // What main.ts catches must be of one class whoever throws it.
  const require = (id: string): unknown => (id === './exit.js' ? exit : nodeRequire(id));
  const module = { exports: {} };
  const dist = new URL('../', import.meta.url).href;
  const body = script.runInThisContext() as (...given: readonly unknown[]) => void;
  body(module.exports, require, module, dist);
  return { script, exports: module.exports };
}
