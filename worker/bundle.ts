import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/**
 * The workflows as one script. An image contains it (tools/build/image.mjs). Elsewhere it is bundled once per build and
 * cached beside it, since bundling takes seconds.
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
      // A read-only folder: it will be bundled again next time.
    }
  }
  return { code };
}

/** A digest of the workflow code: the same on every machine with the same image. */
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

/** The bundled sources: workflows, payload converter and tracing. */
export function workflowSources(): WorkflowSources {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const path = (name: string): string => fileURLToPath(new URL(`../workflows/${name}${extension}`, import.meta.url));
  return {
    workflowsPath: path('index'),
    payloadConverterPath: path('payload-converter'),
    workflowInterceptorModules: [path('interceptors'), path('tracing')],
  };
}
