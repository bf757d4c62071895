// Writes dist/conformance.md and dist/conformance-aws.md: what each test of Karpenter's own suites is here. With `--upstream DIRECTORY`, a clone of kubernetes-sigs/karpenter, or
// `--aws DIRECTORY`, one of aws/karpenter-provider-aws, the list of its tests is read anew from its HEAD first, and the tests that have moved since are printed.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';
import { awsProvider, conformancePage, karpenter } from './conformance/page.mjs';
import { movedTests, readUpstream } from './conformance/upstream.mjs';
import { root } from '../root.mjs';

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

/** Writes one page; `option` names the directory that its list of tests is read from. */
async function write(of, { suites, apart }, option) {
  const [list, page] = [join(root, of.list), join(root, of.page)];
  const at = process.argv.indexOf(option);
  if (at >= 0) {
    const now = readUpstream(process.argv[at + 1]);
    const before = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : now;
    for (const { path, from, to } of movedTests(suites, before, now))
      console.log(`${path}: the test of line ${from} ${to === undefined ? 'is gone' : `is in line ${to} now`}`);
    writeFileSync(list, await pretty(list, JSON.stringify(now)));
  }
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, await pretty(page, conformancePage(suites, apart, JSON.parse(readFileSync(list, 'utf8')), of)));
}

const { suites, apart, awsSuites, awsApart } = await cases();
await write(karpenter, { suites, apart }, '--upstream');
await write(awsProvider, { suites: awsSuites, apart: awsApart }, '--aws');
