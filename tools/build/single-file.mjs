// node tools/build/single-file.mjs FILE [--version VERSION]: writes the stowage command as one file that Node 20.19 or newer runs on Linux and macOS:
// all commands but `run`, which needs the native library of Temporal's SDK and is in the image.
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { commonJs } from './image/bundle.mjs';
import { pureShapes, sdkModules, withoutLanguages, withoutUrlTables } from './image/lean.mjs';
import { bundlePage } from './page.mjs';
import { root } from '../root.mjs';

const readBeside = /readFileSync\(new URL\('([\w./-]+)', import\.meta\.url\), 'utf8'\)/g;
const ownVersion = 'packageVersion(dirname(fileURLToPath(import.meta.url)))';
const withoutRun = `
import { UsageError } from '../cli/exit.js';
export function runAll() {
  throw new UsageError('stowage run is in the image of Stowage, not in this file: it needs a native library');
}`;

/** What sources read beside themselves, and the page that a build makes, is in the file. */
const ofOneFile = (version, page) => ({
  name: 'of-one-file',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]process[\\/]run-all\.ts$/ }, ({ path }) => ({
      contents: withoutRun,
      resolveDir: dirname(path),
      loader: 'ts',
    }));
    onLoad({ filter: /[\\/](list-prices|build-info|page-file)\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(readBeside, (_, name) =>
          JSON.stringify(readFileSync(name === 'page.html' ? page : join(dirname(path), name), 'utf8')),
        )
        .replace(ownVersion, JSON.stringify(version)),
      loader: 'ts',
    }));
  },
});

async function singleFile(outfile, version) {
  const { build } = await import('esbuild');
  const page = `${outfile}.page`;
  await bundlePage(page);
  await build({
    entryPoints: [join(root, 'cli/main.ts')],
    outfile,
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: `#!/usr/bin/env node\n${commonJs}` },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    alias: { punycode: createRequire(import.meta.url).resolve('punycode/') },
    plugins: [ofOneFile(version, page), pureShapes, sdkModules, withoutLanguages, withoutUrlTables],
  });
  rmSync(page);
  chmodSync(outfile, 0o755);
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { version: { type: 'string' } } });
const [file] = positionals;
if (file === undefined) throw new Error('Usage: node tools/build/single-file.mjs FILE [--version VERSION]');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
await singleFile(resolve(file), values.version || version);
