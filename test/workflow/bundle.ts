import { readFileSync } from 'node:fs';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowSources } from '../../worker/bundle.js';

/** The workflows as one script: the one that was bundled for all test files (bundle-once.mjs), or one for this file alone. */
export async function testBundle(): Promise<{ readonly code: string }> {
  const path = process.env.STOWAGE_TEST_WORKFLOWS;
  if (path !== undefined) return { code: readFileSync(path, 'utf8') };
  return bundleWorkflowCode({ ...workflowSources(), logger: new DefaultLogger('ERROR') });
}
