// npm run suite -- NAME [OPTION...]: a suite that is no part of `npm test` and `npm run test:all`; what comes after its name is for it.
// `npm run demo` is one of them.
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { checkPrerequisites, InstallError } from '../stack/install.mjs';
import { bundle, ensurePackages } from '../stack/stack.mjs';
import { root } from '../root.mjs';

const suites = {
  chaos: () => play('chaos'),
  crash: () => play('crash'),
  demo: () => play('demo'),
  karpenter: () => play('karpenter-suite'),
  install: () => import('./test-install.mjs'),
  postgres: () => import('./test-postgres.mjs'),
  mutation: () => import('./mutation.mjs'),
  aws: () => runBuilt('tools/aws-conformance/main.js'),
};

/** Plays tools/stack/<what>/main.ts on the local stack. */
async function play(what) {
  // Node 20 is what this project supports; the SDK's reminder would be in every output.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  // What has to be compiled asks for what it needs; containers ask for nothing.
  checkPrerequisites(['node']);
  ensurePackages();
  await import(pathToFileURL(await bundle(`${what}/main`)).href);
}

function runBuilt(main) {
  for (const args of [['tools/build/build.mjs'], [`dist/${main}`, ...process.argv.slice(2)]]) {
    process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
    if (process.exitCode !== 0) return;
  }
}

const [name] = process.argv.splice(2, 1);
if (name === undefined || !Object.hasOwn(suites, name)) {
  console.error(`suite ${name ?? ''}: no such suite; there are ${Object.keys(suites).join(', ')}`);
  process.exitCode = 2;
} else {
  try {
    await suites[name]();
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
