import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/**
 * The workflows as one script. An image has it beside its programs (tools/build/image.mjs). Elsewhere it is bundled once for a build and
 * kept with it, since bundling takes seconds.
 */
export async function workflowBundle(): Promise<{ code: string } | { codePath: string }> {
  const prebuilt = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
  if (existsSync(prebuilt)) return { codePath: prebuilt };
  const kept = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
  const stamp = fileURLToPath(new URL('../.built', import.meta.url));
  if (existsSync(kept) && existsSync(stamp) && statSync(kept).mtimeMs >= statSync(stamp).mtimeMs) {
    return { code: readFileSync(kept, 'utf8') };
  }
  const { code } = await bundleWorkflowCode({ ...workflowSources(), logger: new DefaultLogger('ERROR') });
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

/** The same for the same workflow code, on any machine that runs the same image. */
export async function workflowDigest(): Promise<string> {
  const bundle = await workflowBundle();
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  return createHash('sha256').update(code).digest('hex').slice(0, 8);
}

interface WorkflowSources {
  readonly workflowsPath: string;
  readonly payloadConverterPath: string;
  readonly workflowInterceptorModules: string[];
}

/** What is bundled: the workflows, how they read payloads, and how they trace. */
export function workflowSources(): WorkflowSources {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const path = (name: string): string => fileURLToPath(new URL(`../workflows/${name}${extension}`, import.meta.url));
  return {
    workflowsPath: path('index'),
    payloadConverterPath: path('payload-converter'),
    workflowInterceptorModules: [path('interceptors'), path('tracing')],
  };
}
