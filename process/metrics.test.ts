import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { Gauge, Registry } from 'prom-client';
import { metricsText } from './http.js';
import { exportSdkMetrics } from './metrics.js';

let exporter: Server | undefined;
afterEach(() => {
  exporter?.close();
});

const exports = (address: string, status = 200): void => {
  const [host, port] = address.split(':');
  exporter = createServer((_, response) => response.writeHead(status).end('temporal_x 1\n')).listen(Number(port), host);
};

test('metrics of the SDK are served on loopback alone', async () => {
  const addresses: string[] = [];
  const read = await exportSdkMetrics((address) => {
    addresses.push(address);
    exports(address);
  });

  expect(await read()).toBe('temporal_x 1\n');
  expect(addresses).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)]);
});

test('metrics of the SDK move to another port if theirs is taken', async () => {
  const addresses: string[] = [];
  await exportSdkMetrics((address) => {
    addresses.push(address);
    if (addresses.length < 3)
      throw new Error('Failed to start prometheus metrics exporter: Address already in use (os error 98)');
  });
  expect(new Set(addresses).size).toBe(3);
});

test.each([
  ['Address already in use', 5],
  ['no such option', 1],
])('starting the SDK metrics fails for "%s" after %d attempts', async (message, times) => {
  let tried = 0;
  const given = exportSdkMetrics(() => {
    tried++;
    throw new Error(message);
  });
  await expect(given).rejects.toThrow(message);
  expect(tried).toBe(times);
});

test('an unreadable answer of the SDK metrics is an error', async () => {
  const read = await exportSdkMetrics((address) => exports(address, 500));
  await expect(read()).rejects.toThrow('answered 500');
});

test("/metrics includes the SDK's metrics, and has its own where those do not answer (metrics/sdk)", async () => {
  const registry = new Registry();
  new Gauge({ name: 'own', help: 'x', registers: [registry] }).set(2);
  const own = '# HELP own x\n# TYPE own gauge\nown 2\n';

  expect(await metricsText({ registry, sdkMetrics: () => Promise.resolve('temporal_x 1\n') })).toBe(
    `${own}temporal_x 1\n`,
  );
  expect(await metricsText({ registry, sdkMetrics: () => Promise.reject(new Error('gone')) })).toBe(own);
  expect(await metricsText({ registry })).toBe(own);
});
