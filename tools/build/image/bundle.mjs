// Programs with all that they import, as modules that share chunks: what images hold in place of sources and node_modules.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Packages read these of CommonJS; modules have none. */
export const commonJs = [
  "import { createRequire as _createRequire } from 'node:module';",
  "import { fileURLToPath as _fileURLToPath } from 'node:url';",
  'const require = _createRequire(import.meta.url);',
  'const __filename = _fileURLToPath(import.meta.url);',
  'const __dirname = import.meta.dirname;',
].join('\n');

/**
 * Bundles `programs`, files by the names of their bundles, into `folder`. Gives the files that went in. The same sources and packages give
 * the same bytes.
 */
export async function bundlePrograms(root, folder, programs, plugins = []) {
  const { build } = await import('esbuild');
  const { metafile } = await build({
    entryPoints: programs,
    outdir: folder,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    chunkNames: 'chunk-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node22',
    banner: { js: commonJs },
    // Names stay: they are in messages, and SDKs go by them.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    // Node's own is deprecated and says so at each start.
    alias: { punycode: require.resolve('punycode/') },
    plugins,
  });
  return Object.keys(metafile.inputs);
}
