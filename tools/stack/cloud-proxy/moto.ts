import { Agent, request } from 'node:http';
import { AwsError, type Reply } from './aws-error.js';
import { accountId } from './events.js';
import { formatQuery, type Params } from './query.js';
import { parseXml, textOf, child, type XmlElement } from './xml.js';

export interface MotoRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/**
 * The client of the moto server behind the proxy. Where other clouds are in the same server, each has its `account` there: it replaces
 * ours in requests, and ours replaces it in answers.
 */
export class Moto {
  constructor(
    private readonly endpoint: string,
    private readonly region: string,
    private readonly account = accountId,
  ) {}

  /** The same server, as another region. */
  elsewhere(region: string): Moto {
    return new Moto(this.endpoint, region, this.account);
  }

  /** Sends a request as it is. Rejects on connection errors. `signal` gives the call up. */
  async send(message: MotoRequest, signal?: AbortSignal): Promise<Reply> {
    if (this.account === accountId) return this.#exchange(message, signal);
    const renamed = (text: Buffer | string, from: string, to: string): Buffer =>
      Buffer.from(text.toString().replaceAll(from, to));
    const reply = await this.#exchange(
      {
        ...message,
        headers: { ...message.headers, 'x-moto-account-id': this.account },
        body: renamed(message.body, accountId, this.account),
      },
      signal,
    );
    return { ...reply, body: renamed(reply.body, this.account, accountId) };
  }

  #exchange(message: MotoRequest, signal?: AbortSignal): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        new URL(message.path, this.endpoint),
        {
          method: message.method,
          headers: {
            ...message.headers,
            // By the name of a host moto would guess the region.
            host: new URL(this.endpoint).host,
            'content-length': String(Buffer.byteLength(message.body)),
          },
          agent,
          ...(signal && { signal }),
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const headers: Record<string, string> = {};
            for (const name of ['content-type', 'x-amzn-requestid', 'x-amzn-errortype', 'x-amzn-query-error']) {
              const value = incoming.headers[name];
              if (typeof value === 'string') headers[name] = value;
            }
            resolve({ status: incoming.statusCode ?? 500, headers, body: Buffer.concat(chunks) });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(message.body);
    });
  }

  #headers(service: string): Record<string, string> {
    return {
      authorization: `AWS4-HMAC-SHA256 Credential=local/20260101/${this.region}/${service}/aws4_request, SignedHeaders=host, Signature=0`,
    };
  }

  /** Calls an EC2 action. Rejects with AwsError when moto refuses it. */
  async ec2(action: string, params: Params): Promise<XmlElement> {
    const reply = await this.send({
      method: 'POST',
      path: '/',
      headers: { ...this.#headers('ec2'), 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: formatQuery({ Version: '2016-11-15', ...params, Action: action }),
    });
    if (reply.status >= 400) throw errorOf(action, reply);
    return parseXml(reply.body.toString());
  }

  /** Calls an IAM action; undefined where IAM knows nothing of the name. */
  async iam(action: string, params: Params): Promise<XmlElement | undefined> {
    const reply = await this.send({
      method: 'POST',
      path: '/',
      headers: { ...this.#headers('iam'), 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: formatQuery({ Version: '2010-05-08', ...params, Action: action }),
    });
    if (reply.status === 404) return undefined;
    if (reply.status >= 400) throw new AwsError('InternalFailure', `iam:${action}: moto answered ${reply.status}`, 500);
    return parseXml(reply.body.toString());
  }

  /** Calls an action of a JSON-protocol service. */
  async json<T>(service: string, target: string, input: unknown): Promise<T> {
    const reply = await this.send({
      method: 'POST',
      path: '/',
      headers: {
        ...this.#headers(service),
        'content-type': service === 'sqs' ? 'application/x-amz-json-1.0' : 'application/x-amz-json-1.1',
        'x-amz-target': target,
      },
      body: JSON.stringify(input),
    });
    if (reply.status >= 400) {
      const { __type: type = 'InternalFailure', message = '' } = JSON.parse(reply.body.toString()) as Record<
        string,
        string
      >;
      throw new AwsError(type.split('#').at(-1)!, message, reply.status);
    }
    return JSON.parse(reply.body.toString()) as T;
  }
}

/** moto answers an action it lacks with a web page and status 500. */
export function isUnimplemented(reply: Reply): boolean {
  return reply.status >= 500 && (reply.headers['content-type'] ?? '').includes('html');
}

export function notImplemented(service: string, action: string): AwsError {
  return new AwsError('UnsupportedOperation', `The local cloud does not implement ${service}:${action}.`);
}

function errorOf(action: string, reply: Reply): AwsError {
  if (isUnimplemented(reply)) return notImplemented('ec2', action);
  const error = child(parseXml(reply.body.toString()), 'Errors', 'Error');
  return new AwsError(textOf(error, 'Code') ?? 'InternalError', textOf(error, 'Message') ?? '', reply.status);
}
