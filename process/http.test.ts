import { EventEmitter, once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Gauge, Registry } from 'prom-client';
import { serveHttp } from './http.js';
import type { HttpOptions } from './http.js';
import { SettingsError } from './settings.js';

const address = '127.0.0.1';
const other = createServer();
const unheard = { alive: () => [], ready: () => [], onFault: () => undefined };
let taken: number;
let stop: (() => Promise<void>) | undefined;

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function serve(
  options: Partial<HttpOptions> = {},
): Promise<{ readonly health: number; readonly metrics: number }> {
  const [health, metrics] = [await freePort(), await freePort()];
  const registry = new Registry();
  stop = await serveHttp({ metricsPort: metrics, healthPort: health, address, registry, ...unheard, ...options });
  return { health, metrics };
}

/** What comes back for these bytes. */
async function asked(port: number, bytes: string): Promise<string> {
  const socket = connect(port, address);
  socket.on('error', () => undefined);
  socket.write(bytes);
  return text(socket);
}

const request = (target: string, method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

beforeEach(async () => {
  await new Promise<void>((resolve) => other.listen(0, address, resolve));
  taken = (other.address() as AddressInfo).port;
});
afterEach(async () => {
  await new Promise((resolve) => other.close(resolve));
  await stop?.();
  stop = undefined;
});

test.each(['METRICS_PORT', 'HEALTH_PROBE_PORT'] as const)(
  'a taken port is named by its setting: %s',
  async (setting) => {
    const ports = { metricsPort: 0, healthPort: 0, [setting === 'METRICS_PORT' ? 'metricsPort' : 'healthPort']: taken };
    const serving = serveHttp({ ...ports, address, registry: new Registry(), ...unheard });

    await expect(serving).rejects.toThrow(SettingsError);
    await expect(serving).rejects.toThrow(new RegExp(`^${setting}: cannot listen on port ${taken}: .*EADDRINUSE`));
  },
);

const hostile = [
  ...[
    '//',
    '///',
    '//:',
    '//[',
    '//%',
    '//a:99999999/',
    'http://[',
    'http://',
    'http://a:b/',
    'http://%00/',
    'x:',
    ':',
  ],
  ...[
    '/%',
    '/%00',
    '/../../x',
    '/healthz/..;/',
    '/__proto__',
    '/constructor',
    '*',
    '?',
    '/\\',
    '\\\\',
    `/${'a'.repeat(9000)}`,
  ],
].flatMap((target) => ['GET', 'POST', 'OPTIONS', 'DELETE'].map((method) => request(target, method)));
const broken = [
  '\0\r\n\r\n',
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'GET /a b HTTP/1.1\r\n\r\n',
  'A'.repeat(100_000),
];

test('any invalid request line is answered with 4xx, and the next request as usual', async () => {
  const faults: unknown[] = [];
  const { health, metrics } = await serve({ onFault: (_source, error) => faults.push(error) });

  for (const port of [health, metrics]) {
    for (const bytes of [...hostile, ...broken])
      expect({ bytes: bytes.slice(0, 80), answer: await asked(port, bytes) }).toMatchObject({
        answer: expect.stringMatching(/^HTTP\/1\.1 4\d\d /),
      });
  }
  expect(faults).toEqual([]);
  expect(await asked(health, request('/healthz?verbose=%'))).toMatch(/^HTTP\/1\.1 200 /);
});

test('an error in a handler fails its request alone, and is logged', async () => {
  const faults: unknown[] = [];
  const { health } = await serve({
    onFault: (source, error) => faults.push([source, error]),
    alive: () => {
      throw new Error('no');
    },
  });

  expect(await asked(health, request('/healthz'))).toMatch(/^HTTP\/1\.1 500 /);
  expect(await asked(health, request('/readyz'))).toMatch(/^HTTP\/1\.1 200 /);
  expect(faults).toEqual([['request', new Error('no')]]);
});

test('metrics are rendered once for parallel requests, and again for later ones', async () => {
  const begun = new EventEmitter();
  let rendered = 0;
  const registry = new Registry();
  const collect = async (): Promise<void> => {
    rendered += 1;
    await new Promise<void>((resolve) => begun.emit('rendering', resolve));
  };
  new Gauge({ name: 'slow', help: 'slow', registers: [registry], collect });
  const { metrics } = await serve({ registry });
  const rendering = async (): Promise<() => void> => ((await once(begun, 'rendering')) as [() => void])[0];

  const first = rendering();
  const answers = Array.from({ length: 20 }, () => asked(metrics, request('/metrics')));
  const finish = await first;
  // All have come by then.
  await asked(metrics, request('/'));
  finish();
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*slow 0/);
  expect(rendered).toBe(1);

  const second = rendering().then((end) => end());
  while (rendered === 1) await asked(metrics, request('/metrics'));
  await second;
  expect(rendered).toBe(2);
});
