import { Readable } from 'node:stream';

/** A request without its signature, and the verbatim response of AWS. */
export interface Exchange {
  /** As in the names of permissions, such as `ec2`. */
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Answered {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body: Readable;
}

type Handler = (args: { request: unknown }) => Promise<{ response: unknown }>;

/** The common part of all SDK clients. */
interface Client {
  readonly middlewareStack: {
    add(middleware: (next: Handler) => Handler, options: { step: 'deserialize'; priority: 'low'; name: string }): void;
  };
}

/** Reports every request and response of a client to `hear`; requests without a response are not reported. */
export function watchExchanges(client: unknown, service: string, hear: (exchange: Exchange) => void): void {
  // Closer to the wire than the step that parses the response, so that errors are reported too.
  (client as Client).middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { method, path, headers, body } = args.request as Sent;
      const response = result.response as Answered;
      const text = await textOf(response.body);
      response.body = Readable.from([text]);
      hear({
        service,
        method,
        path,
        headers: { ...headers, authorization: '' },
        body: bodyText(body),
        answer: { status: response.statusCode, headers: response.headers, body: text.toString('utf8') },
      });
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'watchExchanges' },
  );
}

/** The SDK's byte arrays warn if they are converted in another way. */
function bodyText(body: unknown): string {
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return typeof body === 'string' ? body : '';
}

async function textOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
