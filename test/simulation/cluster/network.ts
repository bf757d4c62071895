import { DomainError } from '../../../core/failures.js';
import type { Random } from '../../cases/random.js';
import { limiterClock } from '../../../kube/limiter.js';
import type { LimiterClock } from '../../../kube/limiter.js';
import type { KubeClient } from '../../../kube/port.js';
import type { PlacedPerturbation } from './perturbations.js';

/** How calls of a process to the API server, the cloud and Temporal go. Chances are per call, 0 to 1. */
export interface NetworkConditions {
  /** It takes `slowMs` at most, before and after its effect. Other calls take no time. */
  readonly slow: number;
  readonly slowMs: number;
  /** It fails before its effect. */
  readonly fails: number;
  /** Its answer is lost: it takes effect, and fails for the caller. */
  readonly loses: number;
}

/** What a validating webhook refuses: `Denied` where it says no, `Unavailable` where it cannot be called. */
export interface Refusal {
  readonly kinds: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
  readonly failure: 'Denied' | 'Unavailable';
}

/** Of calls to who throttles. */
const throttledShare = 0.7;

/** Who a process talks to. */
export type Peer = 'Kubernetes' | 'the cloud' | 'Temporal';

/** What is out of reach now, for whichever process runs. Outages may overlap. */
export class Outages {
  private readonly away = new Map<Peer, number>();
  private stale = 0;
  private waiting: (() => void)[] = [];
  /** Peers that throttle, and by how many faults. */
  private readonly throttling = new Map<Peer, number>();
  /** What webhooks refuse, and why. */
  private readonly refusals = new Set<Refusal>();
  /** How often all watches went dead. */
  private deaths = 0;

  /** Watches that run now bring nothing any more and do not end, as over a connection that is dead at the other end. */
  killWatches(): void {
    this.deaths += 1;
  }

  get watchDeaths(): number {
    return this.deaths;
  }

  /** From now on calls to `peer` fail, and watches of the API server bring nothing. Gives how it ends. */
  begin(peer: Peer): () => void {
    this.count(peer, 1);
    return () => {
      this.count(peer, -1);
      this.wake();
    };
  }

  /** From now on watches lag behind while calls succeed: what a process has cached is old. Gives how it ends. */
  beginStale(): () => void {
    this.stale += 1;
    return () => {
      this.stale -= 1;
      this.wake();
    };
  }

  /** From now on most calls to `peer` are throttled. Gives how it ends. */
  beginThrottling(peer: Peer): () => void {
    const count = (by: number): void => void this.throttling.set(peer, (this.throttling.get(peer) ?? 0) + by);
    count(1);
    return () => count(-1);
  }

  isThrottling(peer: Peer): boolean {
    return (this.throttling.get(peer) ?? 0) > 0;
  }

  /** From now on a webhook of the API server refuses some writes. Gives how it ends. */
  beginRefusing(refusal: Refusal): () => void {
    this.refusals.add(refusal);
    return () => void this.refusals.delete(refusal);
  }

  /** Throws where a webhook refuses the write. */
  admit(write: string, kind: string): void {
    for (const { kinds, writes, failure } of this.refusals) {
      if (kinds.has(kind) && writes.has(write)) throw new DomainError(failure, `${write} ${kind}: a webhook says no`);
    }
  }

  isAway(peer: Peer): boolean {
    return (this.away.get(peer) ?? 0) > 0;
  }

  get areWatchesHeld(): boolean {
    return this.stale > 0 || this.isAway('Kubernetes');
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => void this.waiting.push(resolve));
  }

  private count(peer: Peer, by: number): void {
    this.away.set(peer, (this.away.get(peer) ?? 0) + by);
  }

  /** Has everybody who waits look again. */
  wake(): void {
    for (const then of this.waiting.splice(0)) then();
  }
}

/** Who hears of what goes over a network. */
export interface NetworkListeners {
  readonly onCall: () => void;
  readonly placed?: PlacedPerturbation;
  readonly onWrite?: (what: string) => void;
}

/** What a write is about, for people: the kind and the name. */
function subjectOf(call: string, [kind, subject]: readonly unknown[]): string {
  const { metadata = {}, name = metadata.name } = (subject ?? {}) as Partial<Record<'name', string>> & {
    metadata?: { readonly name?: string };
  };
  return call === 'evict' ? 'Pod' : [typeof kind === 'string' ? kind : '', name ?? ''].join(' ').trim();
}

export const quiet: NetworkConditions = { slow: 0, slowMs: 0, fails: 0, loses: 0 };

/**
 * The calls of one process. After `cut` none of them takes effect or returns any more: the process is dead, at any point of
 * its code.
 */
export class Network {
  conditions: NetworkConditions = quiet;
  private isCut = false;
  private isHeld = false;

  constructor(
    private readonly random: Random,
    private readonly outages: Outages,
    private readonly hears: NetworkListeners,
  ) {}

  /** The process' own time: what it waits for comes once it runs again. */
  readonly clock: LimiterClock = {
    now: () => limiterClock.now(),
    sleep: async (milliseconds, signal, options) => {
      await limiterClock.sleep(milliseconds, signal, options);
      await this.outages.until(() => !this.isHeld);
    },
  };

  get isAlive(): boolean {
    return !this.isCut;
  }

  cut(): void {
    this.isCut = true;
  }

  /** Nothing arrives and no answer is heard until `thaw`, as in a process that is stopped. */
  freeze(): void {
    this.isHeld = true;
  }

  thaw(): void {
    this.isHeld = false;
    this.outages.wake();
  }

  /** The way there alone: resolves when a call arrives. */
  async carry(peer: Peer): Promise<void> {
    await this.way();
    this.failBefore(peer);
  }

  async call<T>(peer: Peer, effect: () => Promise<T>): Promise<T> {
    await this.carry(peer);
    const result = await effect();
    const isLost = this.random.chance(this.conditions.loses);
    await this.way();
    if (isLost) throw new DomainError('Unavailable', 'the answer was lost');
    return result;
  }

  /** The same object, each of whose methods named is called over this network; `writes` change something there. */
  over<T extends object>(peer: Peer, target: T, methods: readonly (keyof T)[], writes: ReadonlySet<keyof T>): T {
    const called = Object.fromEntries(
      methods.map((name) => [
        name,
        (...args: unknown[]) =>
          this.call(peer, () => {
            const effect = (): Promise<unknown> =>
              (target[name] as (...args: unknown[]) => Promise<unknown>).apply(target, args);
            if (!writes.has(name)) return effect();
            if (peer === 'Kubernetes') this.outages.admit(String(name), name === 'evict' ? 'Pod' : String(args[0]));
            this.hears.onWrite?.(`${peer}: ${String(name)} ${subjectOf(String(name), args)}`);
            return this.write(effect);
          }),
      ]),
    );
    return new Proxy(target, {
      get: (object, name) => {
        if (Object.hasOwn(called, name)) return called[name as string];
        const value: unknown = Reflect.get(object, name);
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(object) : value;
      },
    });
  }

  /** A watch whose events wait, in their order, for as long as watches are held. */
  watching(watch: KubeClient['watch']): KubeClient['watch'] {
    return async (kind, options, onEvent) => {
      const held: Parameters<typeof onEvent>[0][] = [];
      let isOver = false;
      const release = async (): Promise<void> => {
        await this.outages.until(() => !this.areWatchesHeld);
        // A watch that has ended is begun anew from what had arrived.
        for (const event of held.splice(0)) if (!isOver && !this.isCut) onEvent(event);
      };
      await this.carry('Kubernetes');
      const deaths = this.outages.watchDeaths;
      const outcome = await watch(kind, options, (event) => {
        if (deaths !== this.outages.watchDeaths) return;
        this.hears.placed?.onEvent();
        if (held.length === 0 && !this.areWatchesHeld) onEvent(event);
        else if (held.push(event) === 1) void release();
      });
      // A process that is frozen hears of nothing, not of the end either.
      await this.outages.until(() => !this.isHeld);
      isOver = true;
      return outcome;
    };
  }

  private get areWatchesHeld(): boolean {
    return this.isHeld || this.outages.areWatchesHeld;
  }

  private async write(effect: () => Promise<unknown>): Promise<unknown> {
    this.hears.placed?.onWrite();
    if (this.isCut) return new Promise<never>(() => undefined);
    const result = await effect();
    this.hears.placed?.onWritten();
    return result;
  }

  private failBefore(peer: Peer): void {
    if (this.outages.isAway(peer)) throw new DomainError('Unavailable', `${peer} is out of reach`);
    if (this.outages.isThrottling(peer) && this.random.chance(throttledShare)) {
      throw new DomainError('Throttled', `${peer} takes no more calls for now`);
    }
    if (this.random.chance(this.conditions.fails)) throw new DomainError('Unavailable', 'the call failed');
  }

  private async way(): Promise<void> {
    this.hears.onCall();
    const { slow, slowMs } = this.conditions;
    if (this.random.chance(slow)) {
      const milliseconds = this.random.int(1, slowMs);
      await new Promise<void>((resolve) => void setTimeout(resolve, milliseconds));
    }
    if (this.isHeld) await this.outages.until(() => !this.isHeld);
    if (this.isCut) await new Promise<never>(() => undefined);
  }
}
