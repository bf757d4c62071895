// `npm run demo`, `npm run chaos`, `npm run test:crash` and `npm run test:karpenter`: brings what is missing, then plays tools/stack/<what>/main.ts on the local stack.
import { pathToFileURL } from 'node:url';
import { checkPrerequisites, InstallError } from '../stack/install.mjs';
import { bundle, ensurePackages } from '../stack/stack.mjs';

// Node 20 is what this project supports; the SDK's reminder would be in every output.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
const what = process.argv.splice(2, 1)[0];
try {
  // What has to be compiled asks for what it needs; containers ask for nothing.
  checkPrerequisites(['node']);
  ensurePackages();
  await import(pathToFileURL(await bundle(`${what}/main`)).href);
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
