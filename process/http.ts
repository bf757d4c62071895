import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { lookUp } from '../core/own.js';
import { lists, problemOf } from './probes.js';
import type { ProbeCheck } from './probes.js';
import type { OnFault } from './faults.js';
import { SettingsError } from './settings.js';

export interface HttpOptions {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Empty for all interfaces. */
  readonly address: string;
  readonly registry: Registry;
  /** Additional content of `/metrics`, in Prometheus' text format. */
  readonly sdkMetrics?: () => Promise<string>;
  /** Checks of `/healthz`. A process that fails it is restarted. */
  readonly alive: () => readonly ProbeCheck[];
  /** Checks of `/readyz`. */
  readonly ready: () => readonly ProbeCheck[];
  readonly onFault: OnFault;
}

/** Timeout for sending a response to a slow client. */
const answerMs = 60_000;

/**
 * Creates all HTTP servers: an exception while a request is handled fails only this request. An invalid request target
 * gets 400; an error is answered by `fail`. `isTimed`: whether a response must be sent within a minute.
 */
export function requestServer(
  answer: (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>,
  fail: (response: ServerResponse, error: unknown) => void,
  isTimed: (url: URL) => boolean = () => true,
): Server {
  return createServer((request, response) => {
    const base = 'http://stowage';
    if (!URL.canParse(request.url ?? '', base)) {
      response.writeHead(400).end();
      return;
    }
    const url = new URL(request.url ?? '', base);
    if (isTimed(url)) {
      const late = setTimeout(() => response.destroy(), answerMs);
      response.once('close', () => clearTimeout(late));
    }
    void new Promise<void>((resolve) => resolve(answer(request, response, url))).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else fail(response, error);
    });
  });
}

/**
 * Rendered metrics are cached for ten times the time of rendering, so that it uses at most a tenth of the thread
 * at any number of scrapes.
 */
const keptTimes = 10;
const longestKeptMs = 10_000;

/** Shares the result of `render` among concurrent calls, and for a while after. */
function shared(render: () => Promise<string>): () => Promise<Buffer> {
  let current: Promise<Buffer> | undefined;
  return () => {
    if (current !== undefined) return current;
    const began = performance.now();
    const drop = (): void => void (current = undefined);
    // Bytes, which slow connections do not copy.
    current = render().then((text) => Buffer.from(text));
    current.then(
      () => setTimeout(drop, Math.min(longestKeptMs, keptTimes * (performance.now() - began))).unref(),
      drop,
    );
    return current;
  };
}

/** If one exporter does not respond, the metrics of the other are still served. */
export async function metricsText({
  registry,
  sdkMetrics,
}: Pick<HttpOptions, 'registry' | 'sdkMetrics'>): Promise<string> {
  const [own, more = ''] = await Promise.all([registry.metrics(), sdkMetrics?.().catch(() => '')]);
  return `${own}${more}`;
}

/**
 * `/metrics`, `/healthz` and `/readyz`, both with `?verbose` (settings/probes). Resolves once both ports listen;
 * returns a function that stops them.
 */
export async function serveHttp(options: HttpOptions): Promise<() => Promise<void>> {
  const { onFault, registry } = options;
  const fail = (response: ServerResponse, error: unknown): void => {
    onFault('request', error);
    response.writeHead(500).end();
  };
  const rendered = shared(() => metricsText(options));
  const metrics = requestServer(async (_request, response, { pathname }) => {
    if (pathname === '/metrics')
      response.writeHead(200, { 'content-type': registry.contentType }).end(await rendered());
    else response.writeHead(404).end();
  }, fail);
  const probes: Readonly<Record<string, () => readonly ProbeCheck[]>> = {
    '/healthz': options.alive,
    '/readyz': options.ready,
  };
  const health = requestServer((_request, response, { pathname, searchParams }) => {
    const checks = lookUp(probes, pathname)?.();
    if (checks === undefined) {
      response.writeHead(404).end();
      return;
    }
    const problem = problemOf(checks);
    const text = searchParams.has('verbose') ? lists(checks) : (problem ?? 'ok');
    response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain' }).end(`${text}\n`);
  }, fail);
  await listen(metrics, 'METRICS_PORT', options.metricsPort, options.address);
  await listen(health, 'HEALTH_PROBE_PORT', options.healthPort, options.address);
  return async () => {
    await Promise.all([metrics, health].map((server) => new Promise((resolve) => server.close(resolve))));
  };
}

export async function listen(server: Server, setting: string, port: number, address: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void => {
      reject(new SettingsError(`${setting}: cannot listen on port ${port}: ${error.message}`));
    };
    server.once('error', refuse);
    server.listen(port, address === '' ? undefined : address, () => resolve());
  });
  // Open probe connections must not keep the process alive.
  server.unref();
}
