import { setMaxListeners } from 'node:events';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { isDomainError } from '../core/failures.js';
import { type Change, type ChangeHandler, ChangeHandlers, Indices, Store } from './store.js';
import { Connectivity, type ConnectivityListeners, Continuity, Freshness } from './continuity.js';
import { createInterner } from './intern.js';
import { compareVersions } from './kinds.js';
import { backoff, reasonOf, limiterClock, type LimiterClock } from './limiter.js';
import type { ClusterCache, Kind, Kinds, KubeClient, ListOptions, ObjectRef } from './port.js';
import { slim } from './slim.js';
import { isStale, probeOf, type WatchProbeOptions } from './watch-probe.js';

export interface ClusterCacheOptions extends ConnectivityListeners {
  readonly client: Pick<KubeClient, 'listForWatch' | 'watch'>;
  /** The kinds to watch. */
  readonly kinds: readonly Kind[];
  /** Kinds whose CustomResourceDefinition may be missing: they count as empty until it exists. */
  readonly optional?: readonly Kind[];
  /** Narrows a kind, such as `{ Pod: { fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' } }`. */
  readonly selectors?: Readonly<Partial<Record<Kind, ListOptions>>>;
  /** Called when a watch missed changes of its kind without an error; it is started again. */
  readonly onSilentWatch?: (kind: Kind) => void;
  /** Called when a handler of changes threw. */
  readonly onFault?: (kind: Kind, error: Error) => void;
  /** When a watch counts as silent. */
  readonly probe?: Partial<WatchProbeOptions>;
  /** 0 to 1, spreads retries. Default Math.random. */
  readonly random?: () => number;
  readonly clock?: LimiterClock;
  /** Default 800 ms doubling up to 30 s. */
  readonly retry?: { readonly base: number; readonly max: number };
  /** How often to check for a missing optional kind; default a minute. */
  readonly absentRetryMs?: number;
  /** How often to check whether the process was suspended, so that it may have missed a restore; default a second. */
  readonly tickMs?: number;
}

/** A watch that ends sooner than this without an event counts as a failure, so that retries back off. */
const shortestWatchMs = 1000;

/** Keeps a slim copy of the cluster by listing each kind once and then watching it. */
export function createClusterCache(options: ClusterCacheOptions): ClusterCache {
  return new WatchedCluster(options);
}

class WatchedCluster implements ClusterCache {
  private readonly interner = createInterner();
  private readonly stores = new Map<Kind, Store<Kind>>();
  private readonly handlers: ChangeHandlers;
  private readonly pending: Set<Kind>;
  private readonly waiters = new Waiters();
  private readonly connectivity: Connectivity;
  private readonly continuity: Continuity;
  private readonly indices = new Indices();
  private readonly freshness: Freshness;
  private readonly clock: LimiterClock;
  private readonly random: () => number;

  constructor(private readonly options: ClusterCacheOptions) {
    this.pending = new Set(options.kinds);
    this.connectivity = new Connectivity(options);
    this.handlers = new ChangeHandlers((kind, error) => options.onFault?.(kind, error));
    this.clock = options.clock ?? limiterClock;
    this.random = options.random ?? Math.random;
    for (const kind of options.kinds) this.stores.set(kind, new Store());
    const shared = { client: options.client, clock: this.clock, selectors: options.selectors ?? {} };
    this.continuity = new Continuity({ ...shared, kinds: options.kinds, tickMs: options.tickMs ?? 1000 });
    this.freshness = new Freshness({
      ...shared,
      probe: options.probe,
      versionOf: (kind) => (this.pending.has(kind) ? undefined : this.store(kind).version),
    });
  }

  get kinds(): readonly Kind[] {
    return this.options.kinds;
  }

  get synced(): boolean {
    return this.pending.size === 0;
  }

  get unsynced(): readonly Kind[] {
    return [...this.pending];
  }

  get connected(): boolean {
    return this.connectivity.connected;
  }

  async start(signal: AbortSignal): Promise<void> {
    // The watches of all kinds listen to this signal.
    setMaxListeners(0, signal);
    void this.continuity.watchOwnTime(signal);
    for (const kind of this.stores.keys()) void this.follow(kind, signal);
    await this.until(() => this.synced, signal);
  }

  all<K extends Kind>(kind: K): readonly Kinds[K][] {
    return this.store(kind).all();
  }

  get<K extends Kind>(kind: K, ref: ObjectRef): Kinds[K] | undefined {
    return this.store(kind).get(ref);
  }

  podsOnNode(nodeName: string): readonly Pod[] {
    return this.indices.podsOnNode(nodeName);
  }

  nodeByProviderId(providerId: string): Node | undefined {
    return this.indices.nodes.get(providerId);
  }

  nodeClaimByProviderId(providerId: string): NodeClaim | undefined {
    return this.indices.nodeClaims.get(providerId);
  }

  nodeClaimsPlannedFor(pod: string): readonly NodeClaim[] {
    return this.indices.plannedFor(pod).flatMap((name) => this.get('NodeClaim', { name }) ?? []);
  }

  on<K extends Kind>(kind: K, handler: ChangeHandler<Kinds[K]>): () => void {
    this.store(kind);
    return this.handlers.add(kind, handler);
  }

  onEach<K extends Kind>(kind: K, handler: ChangeHandler<Kinds[K]>): () => void {
    return this.handlers.add(kind, handler, this.all(kind));
  }

  async caughtUp(kind: Kind, ref: ObjectRef, resourceVersion: string, signal?: AbortSignal): Promise<void> {
    const store = this.store(kind);
    // Events of a kind come in the order of their versions, so a later event of another object also shows that the
    // write is included.
    const seen = (): boolean =>
      compareVersions(store.get(ref)?.metadata.resourceVersion ?? '', resourceVersion) >= 0 ||
      compareVersions(store.version, resourceVersion) >= 0;
    await this.until(seen, signal ?? new AbortController().signal);
  }

  get freshAt(): number | undefined {
    return this.synced ? this.freshness.ofAll : undefined;
  }

  isFresh(kind: Kind, since: number): Promise<boolean> {
    return this.freshness.isFresh(kind, since);
  }

  until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    return this.waiters.until(condition, signal);
  }

  private store<K extends Kind>(kind: K): Store<K> {
    const store = this.stores.get(kind);
    if (store === undefined) throw new Error(`the cache does not watch ${kind}`);
    return store as unknown as Store<K>;
  }

  /** Lists and watches one kind until `signal` aborts. */
  private async follow(kind: Kind, signal: AbortSignal): Promise<void> {
    const retry = this.options.retry ?? { base: 800, max: 30_000 };
    let failures = 0;
    let listed = false;
    while (!isAborted(signal)) {
      let pause = 0;
      try {
        listed = listed && (await this.continuity.holds(kind, this.store(kind).version, failures, signal));
        if (!listed) await this.list(kind, signal);
        const { outcome, lively } = await this.watch(kind, signal);
        listed = outcome !== 'expired';
        failures = lively ? 0 : failures + 1;
      } catch (error) {
        if (isAborted(signal)) return;
        listed &&= mayGoOn(error);
        if (this.isAbsent(kind, error)) pause = this.options.absentRetryMs ?? 60_000;
        else {
          failures++;
          this.continuity.failed(kind, error);
          this.connectivity.failed(kind, error as Error, failures);
        }
      }
      if (failures > 0) pause ||= backoff(failures - 1, { ...retry, random: this.random });
      // Aborted during the pause: the loop ends.
      if (pause > 0) await this.clock.sleep(pause, signal).catch(() => undefined);
    }
  }

  private async list(kind: Kind, signal: AbortSignal): Promise<void> {
    const beganAt = this.clock.now();
    const { items, resourceVersion } = await this.options.client.listForWatch(kind, {
      ...this.options.selectors?.[kind],
      signal,
      transform: (object) => slim(kind, object, this.interner),
    });
    this.connectivity.answered(kind);
    this.continuity.listed(kind);
    this.takeList(kind, items, resourceVersion);
    this.freshness.advance(kind, beganAt);
  }

  private takeList(kind: Kind, items: readonly Kinds[Kind][], resourceVersion: string): void {
    const changes = this.store(kind).replace(items, resourceVersion);
    this.pending.delete(kind);
    this.take(kind, changes);
    this.waiters.wake();
  }

  /** Handlers see the cache and its indices after all `changes`. */
  private take(kind: Kind, changes: readonly Change<Kinds[Kind]>[]): void {
    for (const change of changes) this.indices.take(kind, change);
    for (const change of changes) this.handlers.notify(kind, change);
  }

  private async watch(kind: Kind, signal: AbortSignal): Promise<{ outcome: 'ended' | 'expired'; lively: boolean }> {
    const store = this.store(kind);
    const startedAt = this.clock.now();
    let heardAt: number | undefined;
    const attempt = new AbortController();
    const stop = (): void => attempt.abort(reasonOf(signal));
    signal.addEventListener('abort', stop, { once: true });
    const options = {
      ...this.options.selectors?.[kind],
      resourceVersion: store.version,
      signal: attempt.signal,
      onOpen: () => {
        this.connectivity.reached(kind);
        this.continuity.reached(kind);
        void this.probe(kind, () => heardAt ?? startedAt, attempt);
      },
    };
    try {
      const outcome = await this.options.client.watch(kind, options, ({ type, object }) => {
        // Late events of a dead connection: the next connection has delivered them.
        if (attempt.signal.aborted) return;
        heardAt = this.clock.now();
        this.freshness.advance(kind, heardAt);
        if (type === 'BOOKMARK') store.advance(object.metadata.resourceVersion);
        else {
          const own = slim(kind, object, this.interner);
          this.take(kind, type === 'DELETED' ? store.remove(own) : store.put(own));
        }
        this.waiters.wake();
      });
      return { outcome, lively: heardAt !== undefined || this.clock.now() - startedAt >= shortestWatchMs };
    } finally {
      signal.removeEventListener('abort', stop);
      attempt.abort();
    }
  }

  /** Ends a watch that misses changes; the next one starts at the same version. */
  private async probe(kind: Kind, heardAt: () => number, attempt: AbortController): Promise<void> {
    const watched = {
      kind,
      selectors: this.options.selectors?.[kind],
      version: () => this.store(kind).version,
      heardAt,
      onAnswer: (beganAt: number, isBehind: boolean) => {
        this.connectivity.answered(kind);
        const wasAway = this.continuity.reached(kind);
        // Restarted with a list: after a restore, a check from a version that no longer exists finds nothing missing.
        if (wasAway) attempt.abort();
        else if (!isBehind) this.freshness.advance(kind, beganAt);
      },
      onFailure: (error: Error) => {
        this.continuity.failed(kind, error);
        if (isDomainError(error, 'Unavailable')) this.connectivity.failed(kind, error, 1);
      },
    };
    const { client } = this.options;
    const options = probeOf(kind, this.options.probe);
    if (!(await isStale(client, this.clock, watched, options, attempt.signal))) return;
    this.options.onSilentWatch?.(kind);
    attempt.abort();
  }

  /**
   * Whether `error` means that an optional kind is not installed, so that it counts as empty. Known objects stay:
   * deleting a CustomResourceDefinition deletes each of its objects with an event, while a kind that is only not served
   * still has them, such as policies that protect nodes.
   */
  private isAbsent(kind: Kind, error: unknown): boolean {
    if (!isDomainError(error, 'NotFound') || !(this.options.optional ?? []).includes(kind)) return false;
    if (this.store(kind).all().length > 0) return false;
    this.connectivity.reached(kind);
    this.takeList(kind, [], this.store(kind).version);
    return true;
  }
}

/**
 * Whether the listed objects are still valid after a watch that failed in this way. After an exception in processing an
 * event, a new list repairs the cache. Without permission to watch, the kind is listed again and again.
 */
function mayGoOn(error: unknown): boolean {
  return isDomainError(error) && error.type !== 'NotFound' && error.type !== 'Denied';
}

/** A function call, so that the compiler does not assume the earlier result. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Callers that wait for a condition; `wake` checks all conditions again. */
class Waiters {
  private readonly checks = new Set<() => void>();

  /**
   * Resolves once `condition` is true. Rejects with what it throws, and with the reason of `signal` once that aborts.
   */
  until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.checks.delete(check);
        signal.removeEventListener('abort', onAbort);
        act();
      };
      const check = (): void => {
        try {
          if (condition()) settle(resolve);
        } catch (error) {
          settle(() => {
            reject(error instanceof Error ? error : new Error(String(error)));
          });
        }
      };
      const onAbort = (): void => {
        settle(() => {
          reject(reasonOf(signal));
        });
      };
      if (signal.aborted) {
        reject(reasonOf(signal));
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.checks.add(check);
      check();
    });
  }

  wake(): void {
    for (const check of [...this.checks]) check();
  }
}
