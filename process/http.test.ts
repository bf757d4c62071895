import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { serveHttp } from './http.js';
import { SettingsError } from './settings.js';

const address = '127.0.0.1';
const other = createServer();
let taken: number;

beforeEach(async () => {
  await new Promise<void>((resolve) => other.listen(0, address, resolve));
  taken = (other.address() as AddressInfo).port;
});
afterEach(() => new Promise((resolve) => other.close(resolve)));

test.each(['METRICS_PORT', 'HEALTH_PROBE_PORT'] as const)(
  'a port that is taken is named by its setting: %s',
  async (setting) => {
    const ports = { metricsPort: 0, healthPort: 0, [setting === 'METRICS_PORT' ? 'metricsPort' : 'healthPort']: taken };
    const serving = serveHttp({ ...ports, address, registry: new Registry(), alive: () => [], ready: () => [] });

    await expect(serving).rejects.toThrow(SettingsError);
    await expect(serving).rejects.toThrow(new RegExp(`^${setting}: nothing can listen on port ${taken}: .*EADDRINUSE`));
  },
);
