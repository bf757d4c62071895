// `npm run stack -- up|down|status|env|chaos`: brings npm packages if they are missing, bundles the command and runs it.
// A bundle of its own, so that the stack does not depend on the rest of the sources being buildable.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkPrerequisites, InstallError } from './install.mjs';
import { root } from '../root.mjs';

/** Runs `npm ci` when the packages are not there. */
export function ensurePackages() {
  if (existsSync(join(root, 'node_modules/esbuild'))) return;
  process.stderr.write('Installing the npm packages ...\n');
  const npm = spawnSync('npm', ['ci'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0)
    throw new InstallError('`npm ci` failed: see above; check the network and run the command again.');
}

/** Bundles tools/stack/<name>.ts with our sources alone and returns the file. */
export async function bundle(name) {
  const { build } = await import('esbuild');
  const target = join(root, 'node_modules/.cache/stowage-stack', `${name.replaceAll('/', '-')}.mjs`);
  const fresh = `${target}.${process.pid}.mjs`;
  mkdirSync(dirname(target), { recursive: true });
  await build({
    entryPoints: [join(root, 'tools/stack', `${name}.ts`)],
    outfile: fresh,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'error',
  });
  renameSync(fresh, target);
  return target;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Node 20 is what this project supports; the SDK's reminder would be in every output.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  try {
    checkPrerequisites(['node']);
    ensurePackages();
    await import(pathToFileURL(await bundle('main')).href);
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
