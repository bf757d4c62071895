import http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import tls from 'node:tls';

/** Proxy and certificate settings for connections to AWS. */
export interface NetworkOptions {
  /** [HTTPS_PROXY] URL of an HTTP proxy for tunnels (CONNECT), optionally with user and password. */
  readonly httpsProxy?: string;
  /**
   * [NO_PROXY] Hosts to reach without the proxy: names, `.suffixes`, addresses, each optionally with a port; `*` for
   * all.
   */
  readonly noProxy?: string;
  /** [AWS_CA_BUNDLE] PEM certificates to trust instead of the default ones. */
  readonly trustedCa?: string;
}

/**
 * A call that waits for a socket counts as failing to connect, so sockets must not be the limit: the request budgets
 * limit concurrent calls.
 */
const manySockets = { keepAlive: true, maxSockets: 1000 };

export interface Agents {
  readonly httpAgent: http.Agent;
  readonly httpsAgent: https.Agent;
}

/** Connections to AWS' endpoints, shared by all clients. */
export function createAgents({ httpsProxy, noProxy = '', trustedCa }: NetworkOptions): Agents {
  const settings = { ...manySockets, ...(trustedCa === undefined ? {} : { ca: trustedCa }) };
  return {
    httpAgent: new http.Agent(manySockets),
    httpsAgent:
      httpsProxy === undefined
        ? new https.Agent(settings)
        : new TunnelAgent(new URL(httpsProxy), (host, port) => bypasses(noProxy, host, port), settings),
  };
}

/** Whether NO_PROXY excludes a host from the proxy. */
export function bypasses(noProxy: string, host: string, port: number): boolean {
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, name = '', ownPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (ownPort !== undefined && Number(ownPort) !== port) return false;
      const bare = name.replace(/^\*?\./, '').toLowerCase();
      return name === '*' || host === bare || host.endsWith(`.${bare}`);
    });
}

type Connected = (error: Error | null, socket?: net.Socket) => void;
type Target = tls.ConnectionOptions & { readonly host: string; readonly port: number };

/** Opens a tunnel to the host through a proxy (CONNECT), and uses TLS in it. */
class TunnelAgent extends https.Agent {
  constructor(
    private readonly proxy: URL,
    private readonly direct: (host: string, port: number) => boolean,
    settings: https.AgentOptions,
  ) {
    super(settings);
  }

  // Node passes a callback for sockets that connect asynchronously.
  override createConnection(options: object, callback?: unknown): never {
    const target = options as Target;
    const connected = callback as Connected;
    if (this.direct(target.host, target.port)) connected(null, tls.connect(target));
    else this.tunnel(target, connected);
    return undefined as never;
  }

  private tunnel(target: Target, connected: Connected): void {
    const { protocol, hostname, port, username, password } = this.proxy;
    const place = `${target.host}:${target.port}`;
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const request = (protocol === 'https:' ? https : http).request({
      host: hostname,
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      method: 'CONNECT',
      path: place,
      agent: false,
      headers: {
        host: place,
        ...(username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }),
      },
    });
    request.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) {
        connected(null, tls.connect({ ...target, socket, servername: target.servername ?? target.host }));
        return;
      }
      socket.destroy();
      connected(new Error(`the proxy ${hostname} refused a tunnel to ${place}: status ${statusCode}`));
    });
    request.once('error', (error) => connected(error));
    request.end();
  }
}

const getMs = 60_000;

interface HttpAnswer {
  readonly status: number;
  readonly errorType: string | undefined;
  /** Date header of the response. */
  readonly date: string | undefined;
  readonly text: string;
}

/** One GET over these connections. Throws without a response within a minute. */
export function get(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { httpAgent, httpsAgent }: Agents,
): Promise<HttpAnswer> {
  const plain = url.protocol === 'http:';
  return new Promise((resolve, reject) => {
    const request = (plain ? http : https).get(
      url,
      { headers, agent: plain ? httpAgent : httpsAgent, signal: AbortSignal.timeout(getMs) },
      (response) => {
        const errorType = response.headers['x-amzn-errortype'];
        const { statusCode: status = 0, headers } = response;
        readAll(response).then(
          (text) => resolve({ status, errorType: errorType?.toString(), date: headers.date, text }),
          reject,
        );
      },
    );
    request.once('error', reject);
  });
}

async function readAll(stream: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
