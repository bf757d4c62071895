import http from 'node:http';
import https from 'node:https';
import { finished } from 'node:stream/promises';
import { createSecureContext } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { DomainError } from '../core/failures.js';

/** Certificates and authentication of a connection. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Pick<https.AgentOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized'>;
  /** Set if there is a proxy. */
  readonly agent?: http.Agent;
}

export interface Connection {
  /** Such as `https://10.0.0.1:6443`, without a trailing slash. */
  readonly server: string;
  /** `renew` drops cached credentials, after the server refused them. */
  credentials(renew: boolean): Promise<Credentials>;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Including the query. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** For streams: called after a response with status 200. */
  readonly onOpen?: () => void;
  /** For POST: whether repeating is safe, because the response shows that it was done before. */
  readonly isRepeatable?: boolean;
  /** For streams: it ends soon, so it uses a keep-alive connection like requests. */
  readonly isShort?: boolean;
}

export interface Answer {
  readonly status: number;
  /** Retry-After header, seconds. */
  readonly retryAfter: number | undefined;
  /** Date header, milliseconds since the epoch. */
  readonly date: number | undefined;
  readonly text: string;
}

export interface Transport {
  /** One request and response. Throws `Unavailable` without a response. */
  exchange(call: Call): Promise<Answer>;
  /**
   * Passes each line of a streamed 200 response to `onLine` and waits for it. Resolves with undefined when the stream
   * ends, breaks, is idle for too long or `signal` aborts, and with the response if it is not a 200.
   */
  stream(call: Call, onLine: (line: string) => void): Promise<Answer | undefined>;
  close(): void;
}

interface TransportOptions {
  readonly userAgent: string;
  readonly requestTimeoutMs: number;
  /** A stream without data for this long is dead. API servers send a bookmark about every minute. */
  readonly idleTimeoutMs: number;
}

interface Agents {
  readonly tls: Credentials['tls'];
  readonly requests: http.Agent;
  readonly streams: http.Agent;
}

/** A dead peer is detected ten seconds after this: from then on Node.js probes every second, ten times. */
const keepAliveProbeMs = 10_000;

/** HTTP/1.1 with keep-alive connections to one API server. */
export function createTransport(connection: Connection, options: TransportOptions): Transport {
  const sender = createSender(connection, options);

  /**
   * Retries what is safe to repeat: a stale connection, except for a POST that is not repeatable, and a refused token.
   */
  const open = async (call: Call, use: Use): Promise<http.IncomingMessage> => {
    let renewed = false;
    let stale = false;
    for (;;) {
      try {
        const response = await sender.send(call, use, renewed);
        if (response.statusCode !== 401 || renewed) return response;
        response.resume();
        renewed = true;
      } catch (error) {
        const isRepeatable = call.method !== 'POST' || call.isRepeatable === true;
        if (stale || !isRepeatable || (error as { stale?: boolean }).stale !== true) throw error;
        stale = true;
      }
    }
  };

  const exchange = async (call: Call): Promise<Answer> => {
    try {
      return await readAnswer(await open(call, 'requests'));
    } catch (error) {
      throw unavailable(connection.server, error);
    }
  };

  const stream = async (call: Call, onLine: (line: string) => void): Promise<Answer | undefined> => {
    let response: http.IncomingMessage;
    try {
      response = await open(call, call.isShort === true ? 'requests' : 'streams');
      if (response.statusCode !== 200) return await readAnswer(response);
    } catch (error) {
      if (call.signal?.aborted === true) return undefined;
      throw unavailable(connection.server, error);
    }
    call.onOpen?.();
    await readLines(response, onLine);
    return undefined;
  };

  return { exchange, stream, close: () => sender.close() };
}

type Use = 'requests' | 'streams';

interface Sender {
  send(call: Call, use: Use, renew: boolean): Promise<http.IncomingMessage>;
  close(): void;
}

function createSender(connection: Connection, options: TransportOptions): Sender {
  const secure = connection.server.startsWith('https:');
  const server = new URL(connection.server);
  const target = urlToHttpOptions(server);
  const prefix = server.pathname.replace(/\/$/, '');
  let agents: Agents | undefined;
  const agentsFor = (tls: Credentials['tls']): Agents => {
    if (agents === undefined || !sameTls(agents.tls, tls)) {
      const Agent = secure ? https.Agent : http.Agent;
      // Certificates are parsed once, and are no part of the key by which the agent finds a connection for each request.
      const parsed = { ca: undefined, cert: undefined, key: undefined, passphrase: undefined };
      const own = secure ? { ...tls, ...parsed, secureContext: createSecureContext(tls) } : {};
      agents = {
        tls,
        requests: new Agent({ ...own, keepAlive: true, keepAliveMsecs: keepAliveProbeMs, maxSockets: 64 }),
        streams: new Agent({ ...own, keepAlive: false }),
      };
    }
    return agents;
  };

  const send = async (call: Call, use: Use, renew: boolean): Promise<http.IncomingMessage> => {
    const credentials = await connection.credentials(renew);
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const timeout = use === 'streams' ? options.idleTimeoutMs : options.requestTimeoutMs;
    return new Promise((resolve, reject) => {
      const request = (secure ? https : http).request({
        ...target,
        path: prefix + call.path,
        method: call.method,
        agent: credentials.agent ?? agentsFor(credentials.tls)[use],
        signal: call.signal,
        timeout,
        headers: {
          accept: 'application/json',
          'user-agent': options.userAgent,
          ...credentials.headers,
          ...(body === undefined
            ? {}
            : { 'content-type': call.contentType ?? 'application/json', 'content-length': body.length }),
        },
      });
      request.once('response', resolve);
      request.once('socket', (socket) => socket.setKeepAlive(true, keepAliveProbeMs));
      request.once('timeout', () => request.destroy(new Error(`silent for ${timeout / 1000} s`)));
      request.on('error', (error) => {
        // The server may close an idle connection just when it is used again.
        reject(Object.assign(error, { stale: request.reusedSocket && isReset(error) }));
      });
      request.end(body);
    });
  };

  const close = (): void => {
    agents?.requests.destroy();
    agents?.streams.destroy();
  };
  return { send, close };
}

function unavailable(server: string, error: unknown): DomainError {
  const { code, message } = error as NodeJS.ErrnoException;
  const cause = code === undefined || message.includes(code) ? message : `${code}: ${message}`;
  return new DomainError('Unavailable', `no answer from the Kubernetes API server at ${server}: ${cause}`, { code });
}

async function readAnswer(response: http.IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => void chunks.push(chunk));
  await finished(response);
  const retryAfter = Number(response.headers['retry-after']);
  const date = Date.parse(response.headers.date ?? '');
  return {
    status: response.statusCode ?? 0,
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
    date: Number.isFinite(date) ? date : undefined,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

/** Splits at newlines without copying again; an error of `onLine` propagates, a network error ends the stream. */
async function readLines(response: http.IncomingMessage, onLine: (line: string) => void): Promise<void> {
  let pending: Buffer[] = [];
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (;;) {
    let next: IteratorResult<Buffer>;
    try {
      next = await chunks.next();
    } catch {
      return;
    }
    if (next.done === true) return;
    let start = 0;
    for (let end = next.value.indexOf(10); end >= 0; end = next.value.indexOf(10, start)) {
      const tail = next.value.subarray(start, end);
      const line = pending.length === 0 ? tail : Buffer.concat([...pending, tail]);
      pending = [];
      start = end + 1;
      try {
        if (line.length > 0) onLine(line.toString('utf8'));
      } catch (error) {
        response.destroy();
        throw error;
      }
    }
    if (start < next.value.length) pending.push(next.value.subarray(start));
  }
}

function isReset(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function sameTls(a: Credentials['tls'], b: Credentials['tls']): boolean {
  const text = (value: unknown): string => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value));
  return (['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized'] as const).every(
    (field) => a[field] === b[field] || text(a[field]) === text(b[field]),
  );
}
