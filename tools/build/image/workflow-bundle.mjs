// The workflows of an image, bundled as Temporal's SDK does it, in the form that takes least of every thread that runs them.
import { join } from 'node:path';
import { linesOf } from './source-lines.mjs';

const mapComment = '//# sourceMappingURL=data:';
const inline = (map) => `${mapComment}application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;

/** The script, and the files that went into it. */
export async function bundledWorkflows(root) {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    payloadConverterPath: join(root, 'workflows/payload-converter.ts'),
    workflowInterceptorModules: ['interceptors', 'tracing'].map((name) => join(root, `workflows/${name}.ts`)),
    logger: new DefaultLogger('ERROR'),
  });
  return slimmed(code);
}

/**
 * Without comments, and in ASCII: one character beyond Latin-1 has V8 take two bytes for each of all others. The map is reduced to lines.
 */
export async function slimmed(bundle) {
  const { transform } = await import('esbuild');
  const { code, map } = await transform(bundle, {
    charset: 'ascii',
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    sourcefile: 'workflow-bundle.js',
    // As it is where it runs: nothing is rewritten for older engines.
    target: 'node22',
  });
  const lines = { ...linesOf(JSON.parse(map)), file: 'workflow-bundle.js' };
  return {
    code: `${code}${inline(lines)}`,
    files: lines.sources.map((source) => source.replace(/^webpack:\/\/[^/]*\//, '')),
  };
}
