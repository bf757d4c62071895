// Writes docs/conformance.md: `npm run conformance`. With `--upstream DIRECTORY`, a clone of kubernetes-sigs/karpenter, the list of
// Karpenter's tests is read anew from its HEAD first, and it is told which tests have moved since.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';
import { conformancePage } from './conformance/page.mjs';
import { movedTests, readUpstream } from './conformance/upstream.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
const list = join(root, 'test/conformance/upstream.json');
const file = join(root, 'docs/conformance.md');
const pretty = async (path, text) => format(text, { ...(await resolveConfig(path)), filepath: path });

/** The cases are TypeScript without anything that runs tests. */
async function cases() {
  const folder = mkdtempSync(join(root, 'node_modules', '.cache-conformance-'));
  try {
    const outfile = join(folder, 'cases.mjs');
    const entryPoints = [join(root, 'test/conformance/index.ts')];
    await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { suites, apart } = await cases();
const at = process.argv.indexOf('--upstream');
if (at >= 0) {
  const now = readUpstream(process.argv[at + 1]);
  for (const { path, from, to } of movedTests(suites, JSON.parse(readFileSync(list, 'utf8')), now))
    console.log(`${path}: the test of line ${from} ${to === undefined ? 'is gone' : `is in line ${to} now`}`);
  writeFileSync(list, await pretty(list, JSON.stringify(now)));
}
writeFileSync(file, await pretty(file, conformancePage(suites, apart, JSON.parse(readFileSync(list, 'utf8')))));
