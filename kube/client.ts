import { KubeConfig } from '@kubernetes/client-node';
import type http from 'node:http';
import type https from 'node:https';
import { createSecureContext } from 'node:tls';
import { messageOf, parserMessageOf } from '../core/error-message.js';
import { cutText, listedNames, onOneLine, quoted } from '../core/text.js';
import { createApi } from './client-api.js';
import { createTransport } from './client-transport.js';
import type { Connection, Credentials } from './client-transport.js';
import { createRateLimiter, limiterClock } from './limiter.js';
import type { KubeClient } from './port.js';

interface KubeClientOptions {
  /** Path of a kubeconfig, or `in-cluster`. Default: KUBECONFIG, `~/.kube/config`, in-cluster, in this order. */
  readonly kubeconfig?: string;
  /** Default `stowage`. */
  readonly userAgent?: string;
  /** KUBE_CLIENT_QPS, default 200 per second. 0 means no limit. */
  readonly qps?: number;
  /** KUBE_CLIENT_BURST, default 300. */
  readonly burst?: number;
  /** Whether the current request is served before other waiting requests. */
  readonly isUrgent?: () => boolean;
  /** Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** A watch without data for this long counts as dead; default 150 s (servers send a bookmark each minute). */
  readonly watchIdleTimeoutMs?: number;
  /** Objects in a page of a list; default 500. */
  readonly pageSize?: number;
}

/** Credentials may change on disk; they are reloaded this often, and when the server refuses them. */
const credentialsTtlMs = 30_000;

/**
 * A client for the API server of a kubeconfig, with its authentication (token, certificate, exec plugin, OIDC, proxy).
 * Throws if there is no usable kubeconfig; does not connect yet.
 */
export function createKubeClient(options: KubeClientOptions = {}): KubeClient & {
  /** The API server's address. */
  readonly server: string;
  /** Closes open connections; watches end. */
  close(): void;
} {
  const connection = createConnection(() => loadConfig(options.kubeconfig));
  const transport = createTransport(connection, {
    userAgent: options.userAgent ?? 'stowage',
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    idleTimeoutMs: options.watchIdleTimeoutMs ?? 150_000,
  });
  const api = createApi({
    transport,
    limiter: createRateLimiter(options.qps ?? 200, options.burst ?? 300, limiterClock, options.isUrgent),
    clock: limiterClock,
    random: Math.random,
    pageSize: options.pageSize ?? 500,
  });
  return {
    ...api,
    certificateAuthority: () => certificateAuthority(connection),
    server: connection.server,
    close: () => transport.close(),
  };
}

async function certificateAuthority(connection: Connection): Promise<string | undefined> {
  const { ca } = (await connection.credentials(false)).tls;
  return typeof ca === 'string' || Buffer.isBuffer(ca) ? Buffer.from(ca).toString('base64') : undefined;
}

/** There is no usable kubeconfig; names the error and the file. */
class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

const foundBy = 'KUBECONFIG is not set, ~/.kube/config does not exist, and this process does not run in a pod';

function loadConfig(kubeconfig: string | undefined): KubeConfig {
  const config = new KubeConfig();
  const where = kubeconfig ?? process.env['KUBECONFIG'] ?? '~/.kube/config';
  try {
    if (kubeconfig === 'in-cluster') config.loadFromCluster();
    else if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new KubeconfigError(whyUnreadable(where, error));
  }
  const cluster = config.getCurrentCluster();
  if (kubeconfig === undefined && cluster?.server === 'http://localhost:8080')
    throw new KubeconfigError(`there is no kubeconfig (--kubeconfig): ${foundBy}`);
  if (cluster === null) {
    const names = listedNames(config.contexts.map(({ name }) => name));
    const current: unknown = config.currentContext;
    const has = `the current context ${quoted(typeof current === 'string' ? current : '')} has no cluster`;
    throw new KubeconfigError(`${where}: ${has}; its contexts: ${cutText(names, 300) || 'none'}`);
  }
  for (const [field, value] of Object.entries({ server: cluster.server, 'proxy-url': cluster.proxyUrl }))
    if (value !== undefined) checkAddress(`${where}: clusters[${cluster.name}].cluster.${field}`, value);
  // client-node refuses plain HTTP, such as that of `kubectl proxy`, unless this check is disabled.
  config.clusters = config.clusters.map((each) =>
    each.server.startsWith('http:') ? { ...each, skipTLSVerify: true } : each,
  );
  return config;
}

function whyUnreadable(where: string, error: unknown): string {
  const { code, path = where } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `${path}: no such file`;
  const why = isMissingField.test(messageOf(error)) ? messageOf(error) : parserMessageOf(error);
  return `${where}: no kubeconfig can be read from it: ${why}`;
}

/** An error of client-node that quotes no value. */
const isMissingField = /^\w+\[\d+\](\.\w+)* is missing$/;

/** Messages contain addresses, so a server address with a password is not accepted. */
function checkAddress(field: string, value: string): void {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isServer = field.endsWith('.server');
  const isKnown = (isServer ? /^https?:$/ : /^(https?|socks\w*):$/).test(url?.protocol ?? '');
  if (!isKnown || url?.host === '') throw new KubeconfigError(`${field}: is no address, such as https://10.0.0.1:6443`);
  if (isServer && `${url?.username}${url?.password}` !== '')
    throw new KubeconfigError(`${field}: has a user name or password, which belong in users[].user`);
}

function createConnection(load: () => KubeConfig): Connection {
  let config = load();
  const cluster = config.getCurrentCluster()!;
  let cached: { readonly credentials: Promise<Credentials>; readonly until: number } | undefined;
  const read = async (): Promise<Credentials> => {
    const request: https.RequestOptions = {};
    const tls = await reading(config, async () => {
      await config.applyToHTTPSOptions(request);
      const picked = pick(request, ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized']);
      createSecureContext(picked);
      return picked;
    });
    return {
      headers: headersOf(request),
      tls,
      ...(cluster.proxyUrl === undefined ? {} : { agent: request.agent as http.Agent }),
    };
  };
  return {
    server: cluster.server.replace(/\/+$/, ''),
    credentials: (renew) => {
      if (renew) config = load();
      if (renew || cached === undefined || cached.until < Date.now()) {
        const credentials = read();
        // Failures are not cached: an exec plugin may succeed the next time.
        credentials.catch(() => (cached = undefined));
        cached = { credentials, until: Date.now() + credentialsTtlMs };
      }
      return cached.credentials;
    },
  };
}

/** What an exec plugin prints may be a token: an error in it is not quoted. */
async function reading<T>(config: KubeConfig, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isOutput = error instanceof SyntaxError || error instanceof TypeError;
    const why = isOutput ? 'the output of its plugin is no ExecCredential' : onOneLine(messageOf(error));
    throw new Error(`no credentials of user "${config.getCurrentUser()?.name ?? ''}" of the kubeconfig: ${why}`);
  }
}

function headersOf(request: https.RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : String(value);
  }
  if (typeof request.auth === 'string') headers.authorization = `Basic ${Buffer.from(request.auth).toString('base64')}`;
  return headers;
}

function pick<T extends object, F extends keyof T>(from: T, fields: readonly F[]): Pick<T, F> {
  const picked: Partial<Pick<T, F>> = {};
  for (const field of fields) if (from[field] !== undefined) picked[field] = from[field];
  return picked as Pick<T, F>;
}
