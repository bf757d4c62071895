// node tools/build/image.mjs FOLDER [--version VERSION] [--arch amd64|arm64]: writes all that the stowage image holds, ready to run with Node alone:
//
//   main.js                     the stowage command, with its chunks: operator, worker and CLI
//   packing-thread.js           what packing threads run
//   workflow-worker-thread.js   what Temporal's workflow threads run
//   workflow-bundle.js          the workflows, bundled as Temporal's SDK does it: nothing is bundled at start
//   releases/, mappings.wasm    the SDK's native library, for the one architecture (default: that of this machine), and its reader of source maps
//   page.html                   the page that the operator serves
//   *.json                      what sources read beside themselves, such as list prices
//   sbom.cdx.json, licenses.txt what of which package is in it
//
// The same sources and packages give the same bytes.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { copyAssets } from './image/assets.mjs';
import { bundlePrograms } from './image/bundle.mjs';
import { plainWorkflowCalls, pureShapes, sdkModules, withoutLanguages, withoutUrlTables } from './image/lean.mjs';
import { nativeLibrary } from './image/native.mjs';
import { packagesIn } from './image/packages.mjs';
import { bundlePage } from './page.mjs';
import { licenceTexts, sbom } from './image/sbom.mjs';
import { bundledWorkflows } from './image/workflow-bundle.mjs';
import { root } from '../root.mjs';

const require = createRequire(import.meta.url);

/** The SDK loads webpack to bundle workflows; here they are bundled already. */
const withoutBundler = {
  name: 'without-bundler',
  setup({ onLoad }) {
    onLoad({ filter: /@temporalio\/worker\/lib\/workflow\/bundler\.js$/ }, () => ({ contents: withoutBundlerCode }));
  },
};
const withoutBundlerCode = `
exports.defaultWorkflowInterceptorModules = [];
exports.WorkflowCodeBundler = class {
  createBundle() { return exports.bundleWorkflowCode(); }
};
exports.bundleWorkflowCode = async () => {
  throw new Error('workflow-bundle.js is missing: an image cannot bundle workflows');
};`;

const programs = {
  main: join(root, 'cli/main.ts'),
  'packing-thread': join(root, 'worker/packing-thread.ts'),
  // The SDK asks for it by this name, beside its own code.
  'workflow-worker-thread': require.resolve('@temporalio/worker/lib/workflow/workflow-worker-thread.js'),
};

/** What packages read from files beside their code. */
function copyNative(folder, arch) {
  const worker = createRequire(require.resolve('@temporalio/worker/package.json'));
  copyFileSync(worker.resolve('source-map/lib/mappings.wasm'), join(folder, 'mappings.wasm'));
  const bridge = dirname(require.resolve('@temporalio/core-bridge/package.json'));
  const target = nativeLibrary(bridge, arch);
  cpSync(join(bridge, target), join(folder, target), { recursive: true });
}

/** Writes the folder anew. */
async function image(folder, { version, arch }) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const programFiles = await bundlePrograms(root, folder, programs, [
    withoutBundler,
    plainWorkflowCalls,
    pureShapes,
    sdkModules,
    withoutLanguages,
    withoutUrlTables,
  ]);
  const workflows = await bundledWorkflows(root);
  writeFileSync(join(folder, 'workflow-bundle.js'), workflows.code);
  const pageFiles = await bundlePage(join(folder, 'page.html'));
  const inputs = [...programFiles, ...workflows.files, ...pageFiles];
  copyNative(folder, arch);
  copyAssets(root, inputs, folder);
  const packages = packagesIn(root, inputs);
  writeFileSync(join(folder, 'sbom.cdx.json'), sbom({ name: 'stowage', version }, packages));
  writeFileSync(join(folder, 'licenses.txt'), licenceTexts(packages));
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ name: 'stowage', version, private: true, type: 'module' }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'stowage'), "#!/usr/bin/env node\nawait import('./main.js');\n", { mode: 0o755 });
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { version: { type: 'string' }, arch: { type: 'string' } },
});
const [folder] = positionals;
if (folder === undefined)
  throw new Error('Usage: node tools/build/image.mjs FOLDER [--version VERSION] [--arch amd64|arm64]');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
// The Dockerfile passes both, empty where its arguments are absent.
await image(resolve(folder), { version: values.version || version, arch: values.arch });
