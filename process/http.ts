import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import { lookUp } from '../core/own.js';
import { lists, problemOf } from './probes.js';
import type { ProbeCheck } from './probes.js';
import { SettingsError } from './settings.js';

export interface HttpOptions {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Empty for all interfaces. */
  readonly address: string;
  readonly registry: Registry;
  /** What else `/metrics` has, in Prometheus' text format. */
  readonly sdkMetrics?: () => Promise<string>;
  /** What `/healthz` goes by. A process that fails it is started anew. */
  readonly alive: () => readonly ProbeCheck[];
  /** What `/readyz` goes by. */
  readonly ready: () => readonly ProbeCheck[];
}

/** One exporter that does not answer keeps nobody from the metrics of the other. */
export async function metricsText({
  registry,
  sdkMetrics,
}: Pick<HttpOptions, 'registry' | 'sdkMetrics'>): Promise<string> {
  const [own, more = ''] = await Promise.all([registry.metrics(), sdkMetrics?.().catch(() => '')]);
  return `${own}${more}`;
}

/** `/metrics`, `/healthz` and `/readyz`, both with `?verbose` (settings/probes). Resolves once both listen; gives how to stop. */
export async function serveHttp(options: HttpOptions): Promise<() => Promise<void>> {
  const metrics = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    void metricsText(options).then(
      (text) => response.writeHead(200, { 'content-type': options.registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const probes: Readonly<Record<string, () => readonly ProbeCheck[]>> = {
    '/healthz': options.alive,
    '/readyz': options.ready,
  };
  const health = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://probe');
    const checks = lookUp(probes, pathname)?.();
    if (checks === undefined) {
      response.writeHead(404).end();
      return;
    }
    const problem = problemOf(checks);
    const text = searchParams.has('verbose') ? lists(checks) : (problem ?? 'ok');
    response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain' }).end(`${text}\n`);
  });
  await listen(metrics, 'METRICS_PORT', options.metricsPort, options.address);
  await listen(health, 'HEALTH_PROBE_PORT', options.healthPort, options.address);
  return async () => {
    await Promise.all([metrics, health].map((server) => new Promise((resolve) => server.close(resolve))));
  };
}

async function listen(server: Server, setting: string, port: number, address: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void => {
      reject(new SettingsError(`${setting}: nothing can listen on port ${port}: ${error.message}`));
    };
    server.once('error', refuse);
    server.listen(port, address === '' ? undefined : address, () => resolve());
  });
  // Probes must not keep a process that wants to end.
  server.unref();
}
