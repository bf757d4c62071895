import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { messageOf } from '../../core/error-message.js';
import { listen, requestServer } from '../../process/http.js';
import { lookUp } from '../../core/own.js';
import { UsageError } from '../exit.js';
import { endpoints, namedIn, pageOpenApi } from './api.js';
import { PageAccess } from './access.js';
import { LivePage } from './live-page.js';
import { withSnapshot } from './page-file.js';
import type { PageDeps } from './read-snapshot.js';

const compress = promisify(gzip);

/** A stream without changes gets a comment this often, so that proxies keep it open. */
const keepAliveMs = 20_000;
const mostStreams = 100;

type Reply = { readonly type: 'text/html' | 'application/json' | 'text/plain'; readonly body: string };

const json = (value: unknown): Reply => ({ type: 'application/json', body: JSON.stringify(value) });

/** The page loads nothing from elsewhere, and no other site may frame it. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

/**
 * Serves the page on `port` until `signal` aborts (surfaces/page). Read-only. Resolves with its port once it listens.
 */
export async function servePage(
  deps: PageDeps,
  { port, address, html }: { readonly port: number; readonly address: string; readonly html: string },
  signal: AbortSignal,
): Promise<number> {
  const page = new LivePage(deps);
  const access = new PageAccess(deps.kube, deps.now);
  const documents: Readonly<Record<string, () => Promise<Reply> | Reply>> = {
    '/': () => ({ type: 'text/html', body: html }),
    '/snapshot.html': async () => ({ type: 'text/html', body: withSnapshot(html, await page.snapshot()) }),
    '/api/v1/openapi.json': () => json(pageOpenApi()),
  };
  const answered = async (url: URL): Promise<Reply | undefined> => {
    const document = lookUp(documents, url.pathname);
    if (document !== undefined) return document();
    for (const { path, query, read } of endpoints) {
      const given = namedIn(path, url, query);
      if (given !== undefined && read !== undefined) return json(await read(deps, page, given));
    }
    return undefined;
  };
  const server = requestServer(
    async (request, response, url) => {
      const answer = await access.of(request);
      if (!answer.allowed) {
        refuse(response, answer.status, answer.why);
        return;
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        refuse(response, 405, 'the page is read-only');
        return;
      }
      if (url.pathname === '/api/v1/stream') {
        stream(page, response);
        return;
      }
      const reply = await answered(url);
      if (reply === undefined) refuse(response, 404, 'there is no such page');
      else await send(response, reply, request.headers['accept-encoding']);
    },
    (response, error) => {
      if (error instanceof UsageError) {
        refuse(response, 404, error.message);
        return;
      }
      if (error instanceof URIError) {
        refuse(response, 400, 'the name in the path is not valid');
        return;
      }
      deps.log.warn({ error: messageOf(error) }, 'a request of the page failed');
      refuse(response, 502, messageOf(error));
    },
    ({ pathname }) => pathname !== '/api/v1/stream',
  );
  await listen(server, 'PAGE_PORT', port, address);
  page.start(signal);
  signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { ...headers, 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`);
}

async function send(response: ServerResponse, { type, body }: Reply, accepts: unknown): Promise<void> {
  const isZipped = typeof accepts === 'string' && accepts.includes('gzip') && body.length > 1000;
  const bytes = isZipped ? await compress(body, { level: constants.Z_BEST_SPEED + 4 }) : Buffer.from(body);
  response.writeHead(200, {
    ...headers,
    'content-type': `${type}; charset=utf-8`,
    'content-length': bytes.length,
    ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(bytes);
}

let streams = 0;

/** Changes as server-sent events. A client that does not read them is dropped. */
function stream(page: LivePage, response: ServerResponse): void {
  if (streams >= mostStreams) {
    refuse(response, 503, `${mostStreams} streams are open already`);
    return;
  }
  streams += 1;
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  const write = (text: string): void => {
    if (response.writableLength > 10_000_000) response.destroy();
    else response.write(text);
  };
  const stop = page.watch((change) => write(`data: ${JSON.stringify(change)}\n\n`));
  const alive = setInterval(() => write(': alive\n\n'), keepAliveMs);
  response.once('close', () => {
    streams -= 1;
    clearInterval(alive);
    stop();
  });
}
