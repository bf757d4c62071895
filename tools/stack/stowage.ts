import { join } from 'node:path';
import type { Component, StackContext } from './components.js';
import { answers } from './http.js';
import { repositoryRoot } from './paths.js';

/** Stowage itself, operator and worker in one process, as a user would start it against the stack. */
export function stowageComponent(context: StackContext, environment: Record<string, string>): Component {
  const { stowageHealth, stowageMetrics, stowagePage, temporalUi } = context.ports;
  const health = `http://127.0.0.1:${stowageHealth}`;
  return {
    name: 'stowage',
    part: 'stowage',
    address: health,
    command: process.execPath,
    args: [join(repositoryRoot(), 'bin/stowage'), 'run'],
    env: {
      ...environment,
      LISTEN_ADDRESS: '127.0.0.1',
      HEALTH_PROBE_PORT: String(stowageHealth),
      METRICS_PORT: String(stowageMetrics),
      PAGE_PORT: String(stowagePage),
      ...(context.engine === 'postgres' ? {} : { TEMPORAL_UI_URL: `http://127.0.0.1:${temporalUi}` }),
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    },
    ready: () => answers(`${health}/readyz`),
    graceMs: 10_000,
  };
}
