import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/**
 * The workflows as one script. Bundled once for a build and kept beside it, since bundling takes seconds; a folder that
 * cannot be written to (an image) is built with the script in it.
 */
export async function workflowBundle(): Promise<{ code: string }> {
  const source = fileURLToPath(
    new URL(`../workflows/index${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
  );
  const kept = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
  const stamp = fileURLToPath(new URL('../.built', import.meta.url));
  if (existsSync(kept) && existsSync(stamp) && statSync(kept).mtimeMs >= statSync(stamp).mtimeMs) {
    return { code: readFileSync(kept, 'utf8') };
  }
  const { code } = await bundleWorkflowCode({ workflowsPath: source, logger: new DefaultLogger('ERROR') });
  if (existsSync(stamp)) {
    try {
      writeFileSync(`${kept}.${process.pid}`, code);
      renameSync(`${kept}.${process.pid}`, kept);
    } catch {
      // A read-only folder: bundle again next time.
    }
  }
  return { code };
}
