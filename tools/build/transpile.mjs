// dist.tests/, which tests run in: the repository with its TypeScript transpiled and links to all else. jest.config.mjs brings it up to date, so that
// no test runs on what was written before a change.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.mjs';

/** The mirror that tests run in; `npm run suite -- mutation` has its own. */
export const mirror = join(root, process.env.STOWAGE_TEST_MIRROR ?? 'dist.tests');

/** Where the module of a source is in a mirror. */
export const moduleOf = (source, into = mirror) => join(into, relative(root, source)).replace(/\.ts$/, '.js');

/** What makes modules, besides their sources. */
const made = createHash('sha256')
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

const isSource = (name) => name.endsWith('.ts') && !name.endsWith('.d.ts');
const isLeftOut = (name) => /^(\.|dist($|\.)|node_modules$|coverage$)/.test(name);

/** The sources below a folder, and what is linked: each other file, or a whole folder without sources. */
function look(folder) {
  const sources = [];
  const links = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (isLeftOut(entry.name) || path === join(root, 'package.json')) continue;
    const below = entry.isDirectory() && entry.name !== 'testdata' ? look(path) : { sources: [], links: [] };
    sources.push(...below.sources);
    if (!entry.isDirectory() && isSource(entry.name)) sources.push(path);
    else links.push(...(below.sources.length > 0 ? below.links : [path]));
  }
  return { sources, links };
}

/** Changes with every edit, even if the edit keeps the modification time. */
function stateOf(source) {
  const { ctimeMs, mtimeMs, size, ino } = statSync(source);
  return [ctimeMs, mtimeMs, size, ino].join(' ');
}

/** Brings a mirror up to date with the sources. `texts`: by path, what is read in place of a source. */
export async function transpile(into = mirror, texts = {}) {
  const manifest = join(into, '.made.json');
  const before = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
  if (before.made !== made) {
    rmSync(into, { recursive: true, force: true });
    mkdirSync(into, { recursive: true });
    writeFileSync(join(into, 'package.json'), '{ "type": "module" }\n');
  }
  const known = before.made === made ? before.states : {};
  const { sources, links } = look(root);
  const states = Object.fromEntries(sources.map((source) => [relative(root, source), stateOf(source)]));
  for (const gone of Object.keys(known).filter((path) => !Object.hasOwn(states, path)))
    for (const suffix of ['', '.map']) rmSync(moduleOf(join(root, gone), into) + suffix, { force: true });
  for (const path of links) link(path, join(into, relative(root, path)));
  const changed = sources.filter((source) => {
    const path = relative(root, source);
    return states[path] !== known[path] || !existsSync(moduleOf(source, into));
  });
  if (changed.length === 0) return;
  await write(changed, into, texts);
  put(manifest, JSON.stringify({ made, states }));
}

/** Modules find what is not TypeScript where it is in the repository: Node resolves links to their target. */
function link(path, at) {
  try {
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(path, at);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
}

async function write(sources, into, texts) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: sources,
    outdir: into,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'silent',
    plugins: [{ name: 'globals', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, ({ path }) => read(path, texts)) }],
  });
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    put(path, contents);
  }
}

/** jest-light-runner has Jest's functions as globals, and no `@jest/globals`. */
function read(path, texts) {
  const text = texts[path] ?? readFileSync(path, 'utf8');
  const contents = text.replace(
    /^import \{([^}]*)\} from '@jest\/globals';$/m,
    (_, names) => `const {${names.replaceAll(' as ', ': ')}} = globalThis;`,
  );
  return { contents, loader: 'ts' };
}

/** Others may write the same at the same time, and others read it. */
function put(path, contents) {
  const fresh = `${path}.${process.pid}`;
  writeFileSync(fresh, contents);
  renameSync(fresh, path);
}
