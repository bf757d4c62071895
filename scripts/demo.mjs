// npm run demo: brings what is missing, then plays devstack/demo on the local stack.
import { pathToFileURL } from 'node:url';
import { checkPrerequisites, InstallError } from '../devstack/install.mjs';
import { bundle, ensurePackages } from '../devstack/stack.mjs';

// Node 20 is what this project supports; the SDK's reminder would be in every output.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
try {
  checkPrerequisites(['node', 'go', 'python']);
  ensurePackages();
  await import(pathToFileURL(await bundle('demo/main')).href);
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
