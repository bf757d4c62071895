import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

const readBeside = /new URL\(['"`]\.\/([\w.-]+)['"`],\s*import\.meta\.url\)/g;
const isCode = (name) => /\.(ts|js|mjs|cjs)$/.test(name);

/**
 * Files that our sources read beside themselves, such as price lists: bundled code looks for them beside the bundle. Throws for one
 * that is not there, and for two of one name.
 */
export function assetsOf(root, inputs) {
  const found = new Map();
  const own = inputs.filter((each) => each.endsWith('.ts') && !each.includes('node_modules'));
  for (const input of own.map((each) => relative(root, resolve(root, each)))) {
    for (const [, name] of readFileSync(join(root, input), 'utf8').matchAll(readBeside)) {
      if (isCode(name)) continue;
      const path = join(dirname(input), name);
      if (!existsSync(join(root, path))) throw new Error(`${input} reads ${path}, which is not there`);
      const other = found.get(name);
      if (other !== undefined && other !== path)
        throw new Error(`${other} and ${path} have one name: rename one of them`);
      found.set(name, path);
    }
  }
  return [...found.values()].sort().map((path) => ({ name: basename(path), path }));
}

/** Copies them to where bundles in `folder` look for them. */
export function copyAssets(root, inputs, folder) {
  for (const { name, path } of assetsOf(root, inputs)) copyFileSync(join(root, path), join(folder, name));
}
