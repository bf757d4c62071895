import { connect, createServer, type Server, type Socket } from 'node:net';

/** How a network is: `cut` ends connections and takes no new ones, `silent` keeps them and carries nothing. */
export type Weather =
  { readonly kind: 'fair' | 'cut' | 'silent' } | { readonly kind: 'slow'; readonly delayMs: number };

/** A connection through it; one that is stranded stays open and carries nothing any more. */
interface Link {
  isStranded: boolean;
}

/** A proxy to one server: its connections are delayed, stalled or cut, as `become` says. */
export class TcpProxy {
  private weather: Weather = { kind: 'fair' };
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private waiting: (() => void)[] = [];
  private links: Link[] = [];

  private constructor(private readonly targetPort: number) {
    // Each side ends when the other has ended and all that it said has arrived.
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.carry(socket));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => void proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  become(weather: Weather): void {
    this.weather = weather;
    if (weather.kind === 'cut') this.cut();
    if (weather.kind !== 'silent') for (const then of this.waiting.splice(0)) then();
  }

  /** As a machine in between that forgets what it carries: connections that are there fall silent for good, new ones do not. */
  strand(): void {
    for (const link of this.links.splice(0)) link.isStranded = true;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private carry(socket: Socket): void {
    if (this.weather.kind === 'cut') {
      socket.destroy();
      return;
    }
    const target = connect({ port: this.targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const link: Link = { isStranded: false };
    this.links.push(link);
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        this.sockets.delete(one);
        this.links = this.links.filter((each) => each !== link);
        other.destroy();
      });
      void this.pass(one, other, link);
    }
  }

  /** In order: nothing overtakes what is held up. */
  private async pass(from: Socket, to: Socket, link: Link): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        await this.passage(link);
        if (to.writable && !to.write(chunk))
          await new Promise((resolve) => to.once('drain', resolve).once('close', resolve));
      }
      to.end();
    } catch {
      to.destroy();
    }
  }

  private async passage(link: Link): Promise<void> {
    while (this.weather.kind === 'silent' || link.isStranded)
      await new Promise<void>((resolve) => void this.waiting.push(resolve));
    if (this.weather.kind !== 'slow') return;
    const { delayMs } = this.weather;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}
