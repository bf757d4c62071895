import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const attempts = 5;
/** The exporter runs in this process: it responds immediately or not at all. */
const timeoutMs = 2000;

/**
 * Starts the exporter of the Temporal SDK with `install` on a free port of the loopback interface, and returns a
 * function that reads its metrics. The SDK needs a fixed port: if another process takes it meanwhile, another port is
 * tried. Rejects with the error of `install`.
 */
export async function exportSdkMetrics(install: (bindAddress: string) => void): Promise<() => Promise<string>> {
  for (let attempt = 1; ; attempt++) {
    const address = `127.0.0.1:${await freePort()}`;
    try {
      install(address);
    } catch (error) {
      if (attempt < attempts && /address already in use/i.test(String(error))) continue;
      throw error;
    }
    return () => read(`http://${address}/metrics`);
  }
}

async function read(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
