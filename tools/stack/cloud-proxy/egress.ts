import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { endpointNames, isEndpoint } from './partition.js';

/** Where the authority's certificate is, for AWS_CA_BUNDLE. */
export const authorityFile = (folder: string): string => join(folder, 'egress-ca.crt');

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A new certificate authority in `folder`, with one certificate for every endpoint of the region. */
function makeCertificates(folder: string, region: string): tls.SecureContext {
  const file = (name: string): string => join(folder, `egress-${name}`);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', ['req', '-x509', '-days', '30', ...ecKey, ...args], { stdio: 'pipe' });
  };
  openssl('-keyout', file('ca.key'), '-out', authorityFile(folder), '-subj', '/CN=local cloud');
  const names = endpointNames(region).map((name) => `DNS:${name}`);
  openssl(
    ...['-CA', authorityFile(folder), '-CAkey', file('ca.key'), '-keyout', file('key'), '-out', file('crt')],
    ...['-subj', `/CN=AWS ${region}`, '-addext', `subjectAltName=${names.join(',')}`],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
  );
  return tls.createSecureContext({ cert: readFileSync(file('crt')), key: readFileSync(file('key')) });
}

/** The HTTP proxy that a network may have as its only way out, and what went through it. */
export class Egress {
  /** How often each host was asked for a tunnel to, those refused too. */
  readonly asked = new Map<string, number>();
  readonly #tunnels = new WeakSet<object>();

  constructor(
    private readonly region: string,
    folder: string,
    private readonly certificates = makeCertificates(folder, region),
  ) {}

  /** Lets `server` take tunnels to AWS' endpoints (CONNECT) and answer, at their ends, what comes through. */
  attach(server: Server): void {
    server.on('connect', (request: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => socket.destroy());
      const [host = '', port] = (request.url ?? '').split(':');
      this.asked.set(host, (this.asked.get(host) ?? 0) + 1);
      if (port !== '443' || !isEndpoint(host, this.region)) {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        return;
      }
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      const end = new tls.TLSSocket(socket, { isServer: true, secureContext: this.certificates });
      end.on('error', () => end.destroy());
      this.#tunnels.add(end);
      server.emit('connection', end);
    });
  }

  /** Whether a request came through a tunnel. */
  carried({ socket }: IncomingMessage): boolean {
    return this.#tunnels.has(socket);
  }
}
