import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { messageOf } from '../../core/error-message.js';
import { requestServer } from '../http.js';

interface CodecServerOptions {
  readonly codec: PayloadCodec;
  /**
   * Required of callers: as a bearer token, or as the first part of the path, since the Temporal UI cannot send this
   * token.
   */
  readonly token: string;
  /** Origin of the Temporal UI, such as `https://temporal.example.com`: browsers may not call from other pages. */
  readonly origin: string | undefined;
}

const mostBytes = 16 * 1024 * 1024;

const base64 = z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64')));
const body = z.object({
  payloads: z.array(
    z
      .object({ metadata: z.record(z.string(), base64).optional(), data: base64.optional() })
      .transform(({ metadata, data }): Payload => ({
        ...(metadata === undefined ? {} : { metadata }),
        ...(data === undefined ? {} : { data }),
      })),
  ),
});

/** Temporal's protocol of remote codecs: `POST /decode` and `/encode` with payloads in Protobuf JSON. */
export function codecServer(options: CodecServerOptions): Server {
  return requestServer(
    (request, response, url) => answer(request, response, url, options),
    (response, error) => refuse(response, 400, messageOf(error)),
  );
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  options: CodecServerOptions,
): Promise<void> {
  const { origin } = request.headers;
  // Callers other than browsers send no origin; only the token identifies them.
  if (origin !== undefined && origin !== options.origin) {
    refuse(
      response,
      403,
      `origin ${origin} is not allowed${options.origin === undefined ? '' : `; ${options.origin} is`}`,
    );
    return;
  }
  allow(response, options.origin);
  if (request.method === 'OPTIONS') {
    response.writeHead(204).end();
    return;
  }
  const { token, work } = askedBy(request, url);
  if (!same(token, options.token)) {
    refuse(response, 401, 'the token is missing or wrong');
    return;
  }
  if (request.method !== 'POST' || (work !== 'decode' && work !== 'encode')) {
    refuse(response, 404, 'there are POST /decode and POST /encode');
    return;
  }
  const { payloads } = body.parse(JSON.parse(await textOf(request)));
  const done = await (work === 'decode' ? options.codec.decode(payloads) : options.codec.encode(payloads));
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ payloads: done.map(asJson) }));
}

/** The requested operation, and the token, which may be in the path. */
function askedBy({ headers }: IncomingMessage, { pathname }: URL): { readonly token: string; readonly work: string } {
  const [, first = '', second] = pathname.split('/');
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  return second === undefined ? { token: bearer, work: first } : { token: first, work: second };
}

function allow(response: ServerResponse, origin: string | undefined): void {
  response.setHeader('vary', 'Origin');
  response.setHeader('cache-control', 'no-store');
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'POST, OPTIONS');
  response.setHeader('access-control-allow-headers', 'content-type, authorization, x-namespace');
  // The UI sends cookies if its codec is configured so.
  response.setHeader('access-control-allow-credentials', 'true');
  // For a page on the internet that calls a server on this machine.
  response.setHeader('access-control-allow-private-network', 'true');
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${message}\n`);
}

/** Compares in constant time. */
function same(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > mostBytes) throw new Error(`the body has more than ${mostBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function asJson({ metadata, data }: Payload): object {
  const text = (value: Uint8Array): string => Buffer.from(value).toString('base64');
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)])),
    data: text(data ?? new Uint8Array()),
  };
}
