import { setTimeout as sleep } from 'node:timers/promises';
import { kubernetesThrough, portOf } from '../network/redirected.js';
import { TcpProxy, type Weather } from '../network/tcp-proxy.js';
import { Replica } from '../replica.js';
import type { Stack } from '../stack.js';

const peers = ['Kubernetes', 'Temporal', 'the cloud'] as const;
export type Peer = (typeof peers)[number];

/** Parts that can die and come up with all that they had: moto and the cloud proxy hold instances in memory. */
export const mortal = ['temporal', 'etcd', 'kube-apiserver'] as const;

const superviseMs = 500;
const roles = ['operator', 'worker'] as const;

/** Two operators and two workers on a stack, whose calls go through networks that can be cut. */
export class Surroundings {
  private readonly ending = new AbortController();
  /** What has begun and will end by itself. */
  private readonly pending = new Set<Promise<void>>();
  private readonly down = new Set<Replica>();
  /** Parts that are down because they were killed. */
  private readonly killed = new Set<string>();
  private supervising: Promise<void> = Promise.resolve();

  private constructor(
    private readonly stack: Stack,
    readonly replicas: readonly Replica[],
    private readonly networks: Readonly<Record<Peer, TcpProxy>>,
  ) {}

  static async start(stack: Stack, settings: Readonly<Record<string, string>>): Promise<Surroundings> {
    const networks = {
      Kubernetes: await TcpProxy.start(portOf(stack.apiserver)),
      Temporal: await TcpProxy.start(portOf(`http://${stack.temporalAddress ?? ''}`)),
      'the cloud': await TcpProxy.start(portOf(stack.awsEndpoint)),
    };
    const through = {
      ...settings,
      KUBECONFIG: kubernetesThrough(stack, `https://127.0.0.1:${networks.Kubernetes.port}`),
      TEMPORAL_ADDRESS: `127.0.0.1:${networks.Temporal.port}`,
      AWS_ENDPOINT_URL: `http://127.0.0.1:${networks['the cloud'].port}`,
    };
    const replicas: Replica[] = [];
    for (const number of [1, 2])
      for (const role of [...roles].reverse())
        replicas.push(await Replica.start(stack, { name: `${role}-${number}`, role, settings: through }));
    const surroundings = new Surroundings(stack, replicas, networks);
    surroundings.supervising = surroundings.supervise();
    return surroundings;
  }

  get peers(): readonly Peer[] {
    return peers;
  }

  /** Why a replica ended that the run did not kill, if one did. */
  failure(): Error | undefined {
    const lost = this.replicas.find((replica) => !this.down.has(replica) && !replica.isRunning);
    return lost === undefined ? undefined : new Error(`${lost.name} stopped by itself: ${lost.said}`);
  }

  /** Kills a replica, and starts it again after so long. */
  async kill(replica: Replica, forMs: number): Promise<void> {
    this.down.add(replica);
    await replica.kill();
    this.after(forMs, () => {
      replica.launch();
      this.down.delete(replica);
    });
  }

  freeze(replica: Replica, forMs: number): void {
    replica.freeze(true);
    this.after(forMs, () => replica.freeze(false));
  }

  async killPart(part: string, forMs: number): Promise<void> {
    this.killed.add(part);
    await this.stack.stopComponent(part, true);
    this.after(forMs, () => void this.killed.delete(part));
  }

  freezePart(part: string, forMs: number): void {
    this.stack.freeze(part, true);
    this.after(forMs, () => this.stack.freeze(part, false));
  }

  weather(peer: Peer, weather: Weather, forMs: number): void {
    this.networks[peer].become(weather);
    this.after(forMs, () => this.networks[peer].become({ kind: 'fair' }));
  }

  /** Existing connections carry nothing from now on, and are not closed. */
  strand(peer: Peer): void {
    this.networks[peer].strand();
  }

  /** Ends everything that has begun: all parts run, and every network is fair. */
  async recover(): Promise<void> {
    this.ending.abort();
    while (this.pending.size > 0) await Promise.all(this.pending);
    await this.supervising;
    for (const part of mortal) await this.stack.startComponent(part);
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await Promise.allSettled(this.pending);
    await this.supervising;
    for (const replica of this.replicas) await replica.kill();
    for (const peer of peers) await this.networks[peer].stop();
  }

  /**
   * Starts parts again, as a kubelet does: those that were killed once their time is over, and those that ended by themselves, such
   * as an API server whose etcd is killed while it starts.
   */
  private async supervise(): Promise<void> {
    const { signal } = this.ending;
    const starting = new Map<string, Promise<void>>();
    while (!signal.aborted) {
      for (const part of mortal) {
        if (this.killed.has(part) || starting.has(part) || this.stack.isRunning(part)) continue;
        // One that does not come up is tried again.
        const start = this.stack.startComponent(part).catch(() => undefined);
        starting.set(
          part,
          start.finally(() => starting.delete(part)),
        );
      }
      await sleep(superviseMs, undefined, { signal }).catch(() => undefined);
    }
    await Promise.all(starting.values());
  }

  private after(ms: number, then: () => void | Promise<void>): void {
    const over = sleep(ms, undefined, { signal: this.ending.signal })
      .catch(() => undefined)
      .then(then)
      .finally(() => this.pending.delete(over));
    // Who waits for it hears of its failure too.
    over.catch(() => undefined);
    this.pending.add(over);
  }
}
