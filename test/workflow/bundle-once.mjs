// Before the tests of workflows: bundles them once for all files.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export default async function bundleOnce() {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows', 'index.ts'),
    payloadConverterPath: join(root, 'workflows', 'payload-converter.ts'),
    logger: new DefaultLogger('ERROR'),
  });
  const path = join(mkdtempSync(join(tmpdir(), 'stowage-test-workflows-')), 'workflows.js');
  writeFileSync(path, code);
  process.env.STOWAGE_TEST_WORKFLOWS = path;
}
