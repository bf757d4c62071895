import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface HttpOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** PEM of the authority to trust; false trusts any. */
  ca?: string | false;
  timeoutMs?: number;
}

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** One HTTP or HTTPS exchange with a loopback server. Rejects on connection errors only. */
export function http(url: string, options: HttpOptions = {}): Promise<HttpAnswer> {
  const { method = 'GET', headers, body, ca, timeoutMs = 60_000 } = options;
  const secure = url.startsWith('https:');
  return new Promise((resolve, reject) => {
    const tls = ca === false ? { rejectUnauthorized: false } : ca === undefined ? {} : { ca };
    const request = (secure ? httpsRequest : httpRequest)(
      url,
      { method, headers: { ...headers, ...(body && { 'content-length': Buffer.byteLength(body) }) }, ...tls },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      },
    );
    request.setTimeout(timeoutMs, () => request.destroy(new Error(`${method} ${url} timed out`)));
    request.on('error', reject);
    request.end(body);
  });
}

/** Whether a GET answers with status 200. */
export async function answers(url: string, options: HttpOptions = {}): Promise<boolean> {
  return (await http(url, { timeoutMs: 2000, ...options })).status === 200;
}
