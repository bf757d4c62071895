import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { isStale } from '../../tools/build/build.mjs';
import { workflowSources } from '../../worker/bundle.js';

let bundle: Promise<{ readonly code: string }> | undefined;

/**
 * The workflows as one script: that of the build where it is of these sources, for bundling takes three seconds of a processor. Otherwise it is bundled by the
 * first test file that needs it, in the folder of shared-folder.mjs, for all.
 */
export function testBundle(): Promise<{ readonly code: string }> {
  bundle ??= readBundle();
  return bundle;
}

async function readBundle(): Promise<{ readonly code: string }> {
  const built = builtCode();
  if (built !== undefined) return { code: built };
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

/** What the first start of Stowage has bundled of the build, or tools/build/built-workflows.mjs. */
function builtCode(): string | undefined {
  if (isStale()) return undefined;
  const [code, stamp] = ['dist/workflow-bundle.js', 'dist/.built'];
  return existsSync(code) && statSync(code).mtimeMs >= statSync(stamp).mtimeMs ? readFileSync(code, 'utf8') : undefined;
}
