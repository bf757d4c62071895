import { mkdir, rename } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from './paths.js';

/**
 * The path of a program of the stack that plain Node can run. From a clone it is bundled afresh from its sources, so
 * that a stack started by a test runs what the test was written against; an image has dist/ alone.
 */
export async function programPath(name: 'cloud-proxy' | 'node-joiner'): Promise<string> {
  const root = repositoryRoot();
  const source = join(root, 'tools/stack', name, 'main.ts');
  if (!existsSync(source)) return join(root, 'dist/tools/stack', name, 'main.js');
  const { build } = await import('esbuild');
  const target = join(root, 'node_modules/.cache/stowage-stack', `${name}.mjs`);
  const fresh = `${target}.${process.pid}.mjs`;
  await mkdir(dirname(target), { recursive: true });
  await build({
    entryPoints: [source],
    outfile: fresh,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'error',
  });
  await rename(fresh, target);
  return target;
}
