import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { codecServer } from '../../cli/codec-server.js';
import { requestServer } from '../../process/http.js';
import { editedText } from './fuzz/mutations.js';

const cases = Number(process.env['STOWAGE_FUZZ_CASES'] ?? 3000) / 10;
const token = 'hunter2-hunter2';

const targets = [
  '/',
  '//',
  '///',
  '//a',
  'http://[',
  'http://a:99999/',
  'http://a/healthz',
  '/%00',
  '/%',
  '*',
  'a:1',
  '',
];
const headers = [
  ...['Connection: upgrade\r\nUpgrade: websocket', 'Upgrade: h2c', 'Expect: 100-continue', 'Expect: nothing', 'Host:'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked, chunked', 'Content-Length: -1', 'Content-Length: 1e9'],
  ...[
    `X: ${'x'.repeat(20_000)}`,
    ...Array<string>(3).fill('Origin: http://a'),
    'Authorization: Bearer x',
    ': a',
    'a b: c',
  ],
  ...['X: \u0000', `Authorization: Bearer ${token}`],
];
const requests = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'CONNECT', 'OPTIONS', 'HEAD', 'TRACE', 'PRI', 'get', '', '\u0000'),
    target: fc.oneof(
      fc.constantFrom(...targets),
      editedText('/metrics', '/decode', `/${token}/decode`, '/readyz?verbose'),
    ),
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', ''),
    lines: fc.array(fc.oneof(fc.constantFrom(...headers), editedText('Host: a', 'Accept: */*')), { maxLength: 4 }),
    body: editedText('', '{"payloads":[]}', '{"payloads":[{"data":"AA=="}]}', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n'),
  })
  .map(({ method, target, version, lines, body }) =>
    [`${method} ${target} ${version}`, 'Connection: close', ...lines, '', body].join('\r\n'),
  );

/** The response to these bytes and an end of the stream, until the server closes. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.end(bytes);
  return text(socket).catch(() => '');
}

// Rule `invariants/failures-are-contained`.
describe.each<[string, (fail: (error: unknown) => void) => Server]>([
  [
    'the server of metrics and probes',
    (fail) =>
      requestServer(
        (_request, response, url) => void response.end(url.pathname),
        (_response, error) => fail(error),
      ),
  ],
  [
    'the codec server',
    () =>
      codecServer({
        codec: { encode: (payloads) => Promise.resolve(payloads), decode: (payloads) => Promise.resolve(payloads) },
        token,
        origin: undefined,
      }),
  ],
])('on a request of any bytes %s', (_name, create) => {
  const faults: unknown[] = [];
  let server: Server;
  let port = 0;
  beforeAll(async () => {
    server = create((error) => faults.push(error));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('answers or closes, without a stack or a secret, and answers the next request', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (bytes) => {
        const answer = await answerTo(port, bytes);
        expect(answer).toMatch(/^(HTTP\/1\.1 \d{3} |$)/);
        expect(answer).not.toMatch(/\n\s+at |TypeError|node:internal/);
        if (!bytes.includes(token)) expect(answer).not.toContain(token);
        expect(await answerTo(port, 'GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 /);
      }),
      { numRuns: cases },
    );
    expect(faults).toEqual([]);
  });
});
