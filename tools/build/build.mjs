// Transpiles the TypeScript sources to dist/, file by file. `bin/stowage` calls it when a source is newer than dist/.
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
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
import { promisify } from 'node:util';
import { digestOf } from './digest.mjs';
import { bundlePage, pageFolder } from './page.mjs';
import { root } from '../root.mjs';

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
  'tools/stack',
  'tools/bench',
  'tools/aws-conformance',
  'test/cases',
  'test/checker',
  'test/simulation',
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
  (/\.(json|html|css|svg)$/.test(file) && !file.startsWith(pageFolder)) ||
  (file.endsWith('.yaml') && !file.includes('/tools/stack/'));

/** Whether dist/ is missing or older than any source. */
export function isStale() {
  if (!existsSync(stamp)) return true;
  const built = statSync(stamp).mtimeMs;
  return sources().some((file) => statSync(file).mtimeMs > built);
}

/**
 * Writes what commands run as one script, and V8's code cache of it beside: they start often and from nothing, and reading and
 * compiling hundreds of modules takes longer than many a plan. It is bundled from the modules that were built, and finds files
 * where they would. cli/bundles.ts runs it.
 */
async function bundleCommands(run, folder, name, { external = [] } = {}) {
  await run({
    entryPoints: [join(folder, 'cli', `${name}.js`)],
    outfile: join(folder, 'cli', `${name}.cjs`),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // What is external is CommonJS.
    supported: { 'dynamic-import': false },
    external,
    charset: 'ascii',
    legalComments: 'none',
    banner: { js: '(function (exports, require, module, __dist) {' },
    footer: { js: '})' },
    logLevel: 'silent',
    plugins: [ofDist(folder)],
  });
}

/** Modules go by their place in dist/, and share what `bin/stowage` catches with it. */
const ofDist = (folder) => ({
  name: 'of-dist',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/exit\.js$/ }, () => ({ path: './exit.js', external: true }));
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      const own = relative(folder, path);
      if (own.startsWith('..')) return undefined;
      const url = `new URL(${JSON.stringify(own)}, __dist).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url) };
    });
  },
});

/** They hold native code, find files beside themselves, or code outside the bundle compares the identity of their exports. */
const unbundled = ['@temporalio/*', '@opentelemetry/*', 'commander'];

/** In processes of their own, for one sets V8's flags. */
function cacheCode(folder) {
  const execute = promisify(execFile);
  return Promise.all(
    ['offline', 'online'].map((name) =>
      execute(process.execPath, [join(root, 'tools/build/code-cache.mjs'), folder, name]),
    ),
  );
}

/** What a build is made of and by, besides the sources. */
const surroundings = [
  ...['tools/build/build.mjs', 'tools/build/code-cache.mjs', 'package-lock.json'],
  ...['examples/cluster.json', 'examples/instance-types.json'],
].map((path) => join(root, path));

/** Whether dist/ is a whole build of what has this digest. */
function isBuiltOf(digest) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8').trimEnd().endsWith(digest);
}

/** What is newer than dist/ reads as it did: dist/ is of it, and so are the workflows that are bundled beside (worker/bundle.ts). */
function confirm(now) {
  const bundle = join(root, 'dist', 'workflow-bundle.js');
  if (existsSync(bundle) && statSync(bundle).mtimeMs >= statSync(stamp).mtimeMs) utimesSync(bundle, now, now);
  utimesSync(stamp, now, now);
}

/** Brings dist/ up to date with the sources. Where that fails dist/ stays as it is, and the process ends with a message. */
export async function build() {
  // Built beside and swapped in, so that a command started meanwhile never sees half a build.
  const fresh = join(root, `dist.${process.pid}`);
  try {
    await buildInto(fresh);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    process.stderr.write(`stowage: dist/ was not built: ${messagesOf(error).join('\n  ')}\n`);
    process.exit(1);
  }
}

/** esbuild's own messages say where; its error repeats them. */
function messagesOf({ errors, message }) {
  const messages = (errors ?? []).map(({ text, location }) =>
    location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`,
  );
  return messages.length === 0 ? [message] : messages;
}

async function buildInto(fresh) {
  const started = new Date();
  const files = sources().filter((file) => isProgram(file) || isAsset(file));
  const ofPage = sources().filter((file) => file.startsWith(pageFolder));
  const digest = digestOf(root, [...new Set([...surroundings, ...files, ...ofPage])]);
  if (isBuiltOf(digest)) {
    confirm(started);
    return;
  }
  const { build: run } = await import('esbuild');
  await run({
    entryPoints: files.filter(isProgram),
    outdir: fresh,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'silent',
  });
  for (const file of files.filter(isAsset)) {
    const target = join(fresh, relative(root, file));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(file, target);
  }
  writeFileSync(join(fresh, 'package.json'), '{ "type": "module" }\n');
  await bundlePage(join(fresh, 'cli/page/page.html'));
  await Promise.all([
    bundleCommands(run, fresh, 'offline'),
    bundleCommands(run, fresh, 'online', { external: unbundled }),
  ]);
  await cacheCode(fresh);
  writeFileSync(join(fresh, '.built'), `${started.toISOString()} ${digest}\n`);
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
