// Transpiles the TypeScript sources to dist/, file by file. `bin/stowage` calls it when a source is newer than dist/.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
  existsSync,
  cpSync,
  renameSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folders = [
  'api',
  'core',
  'packing',
  'disruption',
  'cloud',
  'kube',
  'workflows',
  'activities',
  'cluster',
  'worker',
  'process',
  'operator',
  'cli',
  'devstack',
  'bench',
  'cases',
  'checker',
  'simulation',
  'aws-conformance',
];
const stamp = join(root, 'dist', '.built');

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'testdata' && entry.name !== 'node_modules') yield* filesBelow(path);
    } else yield path;
  }
}

function sources() {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => [...filesBelow(join(root, folder))]);
}

const isProgram = (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.d.ts');
const isAsset = (file) =>
  /\.(json|html|css|svg)$/.test(file) || (file.endsWith('.yaml') && !file.includes('/devstack/'));

/** Whether dist/ is missing or older than any source. */
export function isStale() {
  if (!existsSync(stamp)) return true;
  const built = statSync(stamp).mtimeMs;
  return sources().some((file) => statSync(file).mtimeMs > built);
}

/**
 * Writes what the commands on files run as one script, and V8's code cache of it beside: they start often and from nothing,
 * and reading and compiling a hundred modules takes longer than many a plan.
 */
async function bundleOffline(run, folder) {
  await run({
    entryPoints: [join(root, 'cli', 'offline.ts')],
    outfile: join(folder, 'offline.cjs'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [
      {
        name: 'shared',
        setup({ onResolve }) {
          onResolve({ filter: /\/exit\.js$/ }, () => ({ path: './exit.js', external: true }));
        },
      },
    ],
  });
}

/** In a process of its own, for it sets V8's flags. */
function cacheOfflineCode(folder) {
  execFileSync(process.execPath, [join(root, 'scripts', 'code-cache.mjs'), folder], { stdio: 'inherit' });
}

/** Builds dist/ from the sources; throws with esbuild's messages when a file does not parse. */
export async function build() {
  const { build: run } = await import('esbuild');
  const started = new Date();
  const files = sources();
  // Built beside and swapped in, so that a command started meanwhile never sees half a build.
  const fresh = join(root, `dist.${process.pid}`);
  await run({
    entryPoints: files.filter(isProgram),
    outdir: fresh,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'error',
  });
  await bundleOffline(run, join(fresh, 'cli'));
  for (const file of files.filter(isAsset)) {
    const target = join(fresh, relative(root, file));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(file, target);
  }
  writeFileSync(join(fresh, 'package.json'), '{ "type": "module" }\n');
  cacheOfflineCode(fresh);
  writeFileSync(join(fresh, '.built'), `${started.toISOString()}\n`);
  utimesSync(join(fresh, '.built'), started, started);
  swapIn(fresh);
}

/** Puts a build in the place of dist/. Others may do so at the same time: the last one stays. */
function swapIn(fresh) {
  const dist = join(root, 'dist');
  const before = `${fresh}.before`;
  for (let done = false; !done;) {
    unless('ENOENT', () => renameSync(dist, before));
    rmSync(before, { recursive: true, force: true });
    done = unless('ENOTEMPTY', () => renameSync(fresh, dist));
  }
}

/** Whether it was done; it is not where it fails with `code`. */
function unless(code, act) {
  try {
    act();
    return true;
  } catch (error) {
    if (error.code !== code) throw error;
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
