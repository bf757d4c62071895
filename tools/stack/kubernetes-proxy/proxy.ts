import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** A write that the API server has answered. */
export interface KubernetesWrite {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly body: string;
  readonly status: number;
}

/** Hears of a write once it has had its effect; false drops the answer: it never comes. */
export type WriteHook = (write: KubernetesWrite) => boolean;

interface Target {
  readonly server: string;
  /** A kubeconfig of the stack, whose authority signed the server's certificate. */
  readonly kubeconfig: string;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly 'certificate-authority-data': string } }[];
}

const reads = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A proxy between a process and the API server, over plain HTTP; `hook` drops the answer to any write. */
export class KubernetesProxy {
  private readonly sockets = new Set<Socket>();
  private readonly agent: Agent;

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    authority: Buffer,
    private readonly hook: WriteHook,
  ) {
    this.agent = new Agent({ keepAlive: true, ca: authority });
  }

  static async start({ server: target, kubeconfig }: Target, hook: WriteHook): Promise<KubernetesProxy> {
    const { clusters } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const authority = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64');
    // Clients keep connections as long as the API server does: one that ends by itself would be taken for an outage.
    const server = createServer({ keepAliveTimeout: 0 });
    const proxy = new KubernetesProxy(server, target, authority, hook);
    server.on('connection', (socket: Socket) => {
      proxy.sockets.add(socket);
      socket.once('close', () => proxy.sockets.delete(socket));
    });
    server.on('request', (incoming, response) => proxy.carry(incoming, response));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private carry(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = incoming;
    const said: Buffer[] = [];
    const isWrite = !reads.has(method);
    if (isWrite) incoming.on('data', (chunk: Buffer) => said.push(chunk));
    const outgoing = request(`${this.target}${url}`, { method, headers, agent: this.agent }, (answer) => {
      const { statusCode: status = 502 } = answer;
      const [path = ''] = url.split('?');
      if (isWrite && !this.hook({ method, path, body: Buffer.concat(said).toString('utf8'), status })) {
        answer.resume();
        return;
      }
      response.writeHead(status, answer.headers);
      // A watch has nothing to say for long: that it has begun is to be known at once.
      response.flushHeaders();
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    outgoing.once('error', () => response.destroy());
    // A request that its client aborts is aborted upstream: an abandoned watch would stay open.
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }
}
