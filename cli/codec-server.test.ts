import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { codecServer } from './codec-server.js';

const token = 'a-token-of-people';
const origin = 'https://temporal.example.com';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const body = (data: string): string =>
  JSON.stringify({ payloads: [{ metadata: { encoding: base64('json/plain') }, data: base64(data) }] });

/** Turns what it decodes into large letters, and what it encodes into small ones; refuses "no". */
const codec: PayloadCodec = {
  decode: (payloads) => each(payloads, (text) => text.toUpperCase()),
  encode: (payloads) => each(payloads, (text) => text.toLowerCase()),
};

function each(payloads: Payload[], change: (text: string) => string): Promise<Payload[]> {
  const texts = payloads.map(({ data }) => Buffer.from(data!).toString());
  if (texts.includes('no')) return Promise.reject(new Error('key "x" is not known'));
  return Promise.resolve(payloads.map((one, i) => ({ ...one, data: Buffer.from(change(texts[i]!)) })));
}

let server: ReturnType<typeof codecServer> | undefined;
afterEach(() => void server?.close());

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  server = codecServer({ codec, token, origin });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: body('web-0'), ...init });
}

const bearer = { authorization: `Bearer ${token}` };

describe('the codec server', () => {
  test.each([
    ['/decode', bearer, 'WEB-0'],
    [`/${token}/decode`, {}, 'WEB-0'],
    [`/${token}/encode`, {}, 'web-0'],
  ])('answers %s in the JSON of Protobuf', async (path, headers, expected) => {
    const response = await ask(path, { headers });

    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await response.json()).toEqual(JSON.parse(body(expected)));
  });

  test.each([
    ['/decode', {}],
    ['/decode', { authorization: 'Bearer another' }],
    ['/decode', { authorization: `Basic ${token}` }],
    ['/another/decode', bearer],
    ['/another/decode', {}],
  ])('refuses %s with %o', async (path, headers) => {
    const response = await ask(path, { headers: headers as Record<string, string> });

    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain('WEB-0');
  });

  test('answers only pages of the allowed origin', async () => {
    const own = await ask(`/${token}/decode`, { headers: { origin } });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    server?.close();

    const other = await ask(`/${token}/decode`, { headers: { origin: 'https://evil.example.com' } });
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  test('without an origin answers no page', async () => {
    server = codecServer({ codec, token, origin: undefined });
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/${token}/decode`, { method: 'POST', headers: { origin } });

    expect(response.status).toBe(403);
  });

  test('answers the preflight request of the origin', async () => {
    const response = await ask('/decode', { method: 'OPTIONS', body: null, headers: { origin } });

    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-headers')).toContain('x-namespace');
  });

  test.each([
    ['a key that is not known', body('no'), /key "x" is not known/],
    ['invalid JSON', '{', /JSON/],
    ['no payloads', '{}', /payloads/],
    ['no base64', '{"payloads":[{"data":"%"}]}', /base64/i],
  ])('%s is a bad request', async (_, text, message) => {
    const response = await ask('/decode', { headers: bearer, body: text });

    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(message);
  });

  test('answers any other path with 404', async () => {
    expect((await ask('/keys', { headers: bearer })).status).toBe(404);
  });
});
