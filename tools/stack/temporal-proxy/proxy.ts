import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

const prefixBytes = 5;

/** The one message of a unary gRPC body: a flag, four bytes of length, the message. */
function messageIn(body: Buffer): Buffer | undefined {
  if (body.length < prefixBytes) return undefined;
  const message = body.subarray(prefixBytes, prefixBytes + body.readUInt32BE(1));
  return body[0] === 1 ? gunzipSync(message) : message;
}

/** What happens to calls on their way. A promise that stays pending holds a call; false drops it: no answer ever comes. */
export interface CallHooks {
  /** Before the server hears of it. */
  request(method: string, message: Buffer): Promise<boolean> | boolean;
  /** The server has answered: the call has had its effect. */
  response(method: string, message: Buffer, answer: Buffer): Promise<boolean> | boolean;
}

interface Answer {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: OutgoingHttpHeaders | undefined;
}

/** A proxy between a process and Temporal's frontend, whose calls are all unary; `hooks` hold or drop each. */
export class TemporalProxy {
  private readonly sessions = new Set<ServerHttp2Session | ClientHttp2Session>();

  private constructor(
    private readonly server: Http2Server,
    private readonly target: string,
    private readonly hooks: CallHooks,
  ) {}

  static async start(target: string, hooks: CallHooks): Promise<TemporalProxy> {
    const server = createServer();
    const proxy = new TemporalProxy(server, target, hooks);
    server.on('session', (session) => proxy.serve(session));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Ends every connection, as the death of the process does. */
  cut(): void {
    for (const session of this.sessions) session.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(session: ServerHttp2Session): void {
    const upstream = connect(`http://${this.target}`);
    for (const [one, other] of [
      [session, upstream],
      [upstream, session],
    ] as const) {
      this.sessions.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        this.sessions.delete(one);
        other.destroy();
      });
    }
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.carry(stream, headers, upstream).catch(() => {
        if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
    });
  }

  private async carry(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    upstream: ClientHttp2Session,
  ): Promise<void> {
    const body = await collected(stream);
    const method = (headers[':path'] ?? '').split('/').at(-1) ?? '';
    const message = messageIn(body) ?? Buffer.alloc(0);
    if (!(await this.hooks.request(method, message))) return;
    const answer = await forwarded(stream, headers, body, upstream);
    const said = messageIn(answer.body);
    if (said !== undefined && !(await this.hooks.response(method, message, said))) return;
    if (stream.destroyed || stream.closed) return;
    if (answer.trailers === undefined) {
      stream.respond(answer.headers, { endStream: answer.body.length === 0 });
      if (answer.body.length > 0) stream.end(answer.body);
      return;
    }
    const { trailers } = answer;
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(answer.headers, { waitForTrailers: true });
    stream.end(answer.body);
  }
}

const collected = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
};

async function forwarded(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  body: Buffer,
  upstream: ClientHttp2Session,
): Promise<Answer> {
  const call = upstream.request(plain(headers));
  // A call that its client cancels is cancelled upstream: an abandoned poll would get a task.
  const giveUp = (): void => call.close(constants.NGHTTP2_CANCEL);
  stream.once('close', giveUp);
  let head: OutgoingHttpHeaders = {};
  let trailers: OutgoingHttpHeaders | undefined;
  call.once('response', (answered) => (head = plain(answered)));
  call.once('trailers', (answered: IncomingHttpHeaders) => (trailers = plain(answered)));
  call.end(body);
  const answer = await collected(call);
  stream.off('close', giveUp);
  return { headers: head, body: answer, trailers };
}

/** Without what belongs to the one connection. */
function plain(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'connection' && name !== ':authority'));
}
