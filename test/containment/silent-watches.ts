import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Stack } from '../../tools/stack/stack.js';

/**
 * A way to the API server of the stack on which watches of some resources say nothing, however often they are begun anew, while every
 * other request is answered, the short ones that check a watch included. What is behind it has a cache of them that stays old.
 */
export class SilentWatches {
  private silent: string | undefined;
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    private readonly ca: Buffer,
  ) {}

  static async start({ folder, apiserver }: Pick<Stack, 'folder' | 'apiserver'>): Promise<SilentWatches> {
    const file = (name: string): Buffer => readFileSync(join(folder, 'data', 'certificates', name));
    // With the key of the API server, whose certificate its clients trust.
    const server = createServer({ cert: file('apiserver.crt'), key: file('apiserver.key') });
    const proxy = new SilentWatches(server, apiserver ?? '', file('apiserver.crt'));
    server.on('request', (asked, answer) => proxy.pass(asked, answer));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Of this resource alone, such as `nodeclaims`; undefined ends it, and what was not said stays unsaid. */
  silence(resource: string | undefined): void {
    this.silent = resource;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(asked: IncomingMessage, answer: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = asked;
    const onward = request(`${this.target}${url}`, { method, headers, ca: this.ca, agent: this.agent }, (heard) => {
      answer.writeHead(heard.statusCode ?? 502, heard.headers);
      answer.flushHeaders();
      const watched = watchedIn(url);
      heard.on('data', (chunk: Buffer) => {
        if (watched === undefined || watched !== this.silent) answer.write(chunk);
      });
      heard.on('end', () => answer.end());
      heard.on('error', () => answer.destroy());
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  }
}

/** The resource that a request watches for good. */
function watchedIn(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const isShort = Number(searchParams.get('timeoutSeconds')) < 60;
  return searchParams.get('watch') === 'true' && !isShort ? pathname.split('/').at(-1) : undefined;
}
