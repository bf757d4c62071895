import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Registry } from 'prom-client';

export interface HttpOptions {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Empty for all interfaces. */
  readonly address: string;
  readonly registry: Registry;
  /** What is not ready yet, in a person's words; undefined when all is. */
  readonly notReady: () => string | undefined;
}

/** `/metrics`, `/healthz` and `/readyz` (section 5.3). Resolves once both listen; gives how to stop. */
export async function serveHttp(options: HttpOptions): Promise<() => Promise<void>> {
  const metrics = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    void options.registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': options.registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const health = createServer((request, response) => {
    if (request.url !== '/healthz' && request.url !== '/readyz') {
      response.writeHead(404).end();
      return;
    }
    const problem = request.url === '/readyz' ? options.notReady() : undefined;
    response.writeHead(problem === undefined ? 200 : 503).end(`${problem ?? 'ok'}\n`);
  });
  await listen(metrics, options.metricsPort, options.address);
  await listen(health, options.healthPort, options.address);
  return async () => {
    await Promise.all([metrics, health].map((server) => new Promise((resolve) => server.close(resolve))));
  };
}

async function listen(server: Server, port: number, address: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address === '' ? undefined : address, () => resolve());
  });
  // Probes must not keep a process that wants to end.
  server.unref();
}
