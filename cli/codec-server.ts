import { randomBytes, createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { encryptingCodec } from '../process/encryption/codec.js';
import { KeyRing } from '../process/encryption/key-ring.js';
import { SettingsError } from '../process/settings.js';
import { messageOf } from '../core/error-message.js';
import { UsageError } from './exit.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { print, warn } from './output/print.js';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { requestServer } from '../process/http.js';

const keysFile = 'TEMPORAL_PAYLOAD_KEYS_FILE';

export function codecServerCommand(): Command {
  return settingsCommand('codec-server', { only: /^TEMPORAL_PAYLOAD_KEYS_FILE$/ })
    .option('--address <address>', 'where to listen', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8088')
    .option('--origin <url>', 'of the Temporal UI, such as https://temporal.example.com: other pages get no answer')
    .option('--token-file <file>', 'file with the token that callers give; one is made up when absent');
}

/** `stowage codec-server`: decrypts payloads for the Temporal UI and its CLI until SIGTERM or SIGINT. */
export async function serveCodec(args: readonly string[]): Promise<string> {
  const command = codecServerCommand();
  command.parse(args, { from: 'user' });
  const flags = givenFlags(command);
  const file = flags['temporal-payload-keys-file'] ?? process.env[keysFile] ?? '';
  if (file === '') throw new UsageError(`${keysFile} (--temporal-payload-keys-file) is missing`);
  const made = flags['token-file'] === undefined;
  const token = made ? randomBytes(24).toString('base64url') : tokenIn(flags['token-file']!);
  const server = codecServer({ codec: encryptingCodec(ringOf(file)), token, origin: originOf(flags['origin']) });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new UsageError(messageOf(error))));
    server.listen(portOf(flags['port']!), flags['address'], resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  print(`listening on ${url}\ncodec endpoint for the Temporal UI: ${url}/${made ? token : 'TOKEN'}\n`);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return '';
}

function ringOf(file: string): KeyRing {
  try {
    return new KeyRing({
      file,
      now: () => performance.now(),
      onProblem: (problem) => warn(`stowage: ${problem}\n`),
    });
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error;
  }
}

const leastToken = 16;

function tokenIn(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`--token-file "${file}": ${messageOf(error)}`);
  }
  if (/^[\w.~-]+$/.test(token) && token.length >= leastToken) return token;
  throw new UsageError(
    `--token-file "${file}": it holds no token: at least ${leastToken} letters, digits, dots, dashes, underscores and tildes`,
  );
}

function originOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/') return url.origin;
  throw new UsageError(`--origin "${text}": it is no scheme and host, such as https://temporal.example.com`);
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port "${text}": it is no number from 0 to 65535`);
}

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
