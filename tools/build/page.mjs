// The page that `stowage run` serves (cli/page/browser), as one file, so that it loads nothing and can be attached to a ticket.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

/** Where the page's sources are. */
export const pageFolder = join(root, 'cli/page/browser');

/** Writes the page to `file`. Gives the files that went in. */
export async function bundlePage(file) {
  const { build, transform } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: [join(pageFolder, 'main.tsx')],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
  });
  const styles = [join(root, 'node_modules/uplot/dist/uPlot.min.css'), join(pageFolder, 'page.css')];
  const css = styles.map((path) => readFileSync(path, 'utf8')).join('\n');
  const { code: style } = await transform(css, { loader: 'css', minify: true });
  const html = readFileSync(join(pageFolder, 'page.html'), 'utf8')
    .replace('/* style */', () => style)
    .replace('/* script */', () => outputFiles[0].text.replaceAll('</script', '<\\/script'));
  writeFileSync(file, html);
  return Object.keys(metafile.inputs);
}
