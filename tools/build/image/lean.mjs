// What keeps packages out of a bundle that nothing asks for: each costs every process memory and time at its start.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const sdk = /^@(aws-sdk|smithy)\/[^/]+$/;
/** A list that a separate statement names. */
const shape = /^((?:export )?var [\w$]+ =) (\[[^]*?\]);$/gm;

/**
 * Takes the AWS SDK as modules, of which only the used commands and shapes go in: of EC2's alone there are over 700. By itself esbuild takes
 * what `main` names, as Node does, all in one file.
 */
export const sdkModules = {
  name: 'sdk-modules',
  setup({ onResolve, resolve }) {
    onResolve({ filter: sdk }, async ({ path, pluginData, ...from }) => {
      if (pluginData === sdkModules) return undefined;
      const found = await resolve(`${path}/package.json`, {
        kind: from.kind,
        importer: from.importer,
        resolveDir: from.resolveDir,
        pluginData: sdkModules,
      });
      if (found.errors.length > 0) return undefined;
      const { exports, module, sideEffects } = JSON.parse(readFileSync(found.path, 'utf8'));
      // esbuild finds the modules of `exports` by itself.
      if (exports !== undefined || module === undefined) return undefined;
      return { path: join(dirname(found.path), module), ...(sideEffects === false ? { sideEffects } : {}) };
    });
  },
};

/**
 * Says of each shape of the AWS SDK that making it changes nothing else, so that shapes of unused commands are left out: esbuild cannot know it
 * of objects whose keys are variables.
 */
export const pureShapes = {
  name: 'pure-shapes',
  setup({ onLoad }) {
    onLoad({ filter: /@aws-sdk[\\/]client-[^\\/]+[\\/]dist-es[\\/]schemas[\\/]schemas_\d+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(shape, '$1 /* @__PURE__ */ (() => $2)();'),
    }));
  },
};

/** Leaves out the languages of zod's messages other than English, which zod takes by itself. */
export const withoutLanguages = {
  name: 'without-languages',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: 'export {};' }));
  },
};

/** Replaces the package of a URL class by Node's: the package has tables for all of Unicode. */
export const withoutUrlTables = {
  name: 'without-url-tables',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^whatwg-url$/ }, ({ path }) => ({ path, namespace: 'url-of-node' }));
    onLoad({ filter: /./, namespace: 'url-of-node' }, () => ({
      contents: 'export const { URL, URLSearchParams } = globalThis;',
    }));
  },
};

/**
 * Has workflow threads run workflows without a time limit, for which Node starts a thread at each call, and without a stack trace of each
 * promise, which Temporal's `__stack_trace` query alone reads: both cost more than the workflows.
 */
export const plainWorkflowCalls = {
  name: 'plain-workflow-calls',
  setup({ onLoad }) {
    const without = (filter, code) =>
      onLoad({ filter }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes(code)) throw new Error(`${path} has no "${code}": the SDK has changed`);
        return { contents: text.replaceAll(code, '') };
      });
    without(/@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]reusable-vm\.js$/, 'timeout: isolateExecutionTimeoutMs,');
    without(/@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]vm-shared\.js$/, 'this.setPromiseHook();');
  },
};
