import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import * as exit from './exit.js';

/** The bundles of the command that a build makes (tools/build/build.mjs), each with V8's code cache beside it. */
export type BundleName = 'offline' | 'online';

const pathOf = (name: BundleName, kind: 'cjs' | 'cache'): string =>
  fileURLToPath(new URL(`${name}.${kind}`, import.meta.url));

/** Whether the build made the bundle; sources and images run without. */
export const isBundled = (name: BundleName): boolean => existsSync(pathOf(name, 'cjs'));

/** Runs a bundle and returns its exports. With `compiled` it uses the code cache, if it fits this V8 and its flags. */
export function runBundle(name: BundleName, { compiled }: { compiled: boolean }): { script: Script; exports: unknown } {
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
