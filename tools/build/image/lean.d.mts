import type { Plugin } from 'esbuild';

export const sdkModules: Plugin;
export const pureShapes: Plugin;
export const withoutLanguages: Plugin;
export const withoutUrlTables: Plugin;
export const plainWorkflowCalls: Plugin;
