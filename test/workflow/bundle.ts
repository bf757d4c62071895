import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowSources } from '../../worker/bundle.js';

/** The workflows as one script: bundled by the first test file that needs it, in the folder of shared-folder.mjs, for all. */
export async function testBundle(): Promise<{ readonly code: string }> {
  const folder = process.env.STOWAGE_TEST_FOLDER;
  const path = folder === undefined ? undefined : join(folder, 'workflows.js');
  if (path !== undefined && existsSync(path)) return { code: readFileSync(path, 'utf8') };
  const { code } = await bundleWorkflowCode({ ...workflowSources(), logger: new DefaultLogger('ERROR') });
  if (path !== undefined) {
    writeFileSync(`${path}.${process.pid}`, code);
    renameSync(`${path}.${process.pid}`, path);
  }
  return { code };
}
