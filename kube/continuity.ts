import { isDomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';
import { isNewer, newestSince, probeOf, type WatchProbeOptions } from './watch-probe.js';

interface FreshnessOptions {
  readonly client: Pick<KubeClient, 'watch'>;
  readonly clock: LimiterClock;
  readonly selectors: Readonly<Partial<Record<Kind, ListOptions>>>;
  readonly probe: Partial<WatchProbeOptions> | undefined;
  /** The version of the kind in the cache; undefined before its first list. */
  readonly versionOf: (kind: Kind) => string | undefined;
}

/** By kind: the time until which the cache is complete, milliseconds since the epoch. */
export class Freshness {
  private readonly until = new Map<Kind, number>();
  private readonly checks = new Map<Kind, Promise<boolean>>();

  constructor(private readonly options: FreshnessOptions) {}

  /** The earliest of all kinds; undefined if one is missing. */
  get ofAll(): number | undefined {
    return this.until.size > 0 ? Math.min(...this.until.values()) : undefined;
  }

  /** Records that the cache has all changes of the kind until `at`. */
  advance(kind: Kind, at: number): void {
    this.until.set(kind, at);
  }

  /** Whether the cache has all changes of the kind until `since`. Asks the API server if that is unknown. */
  async isFresh(kind: Kind, since: number): Promise<boolean> {
    if (this.hasUntil(kind, since)) return true;
    // A running check may have started too early.
    for (let check = 0; check < 2; check++) {
      const running = this.checks.get(kind) ?? this.check(kind).finally(() => this.checks.delete(kind));
      this.checks.set(kind, running);
      if (!(await running)) return false;
      if (this.hasUntil(kind, since)) return true;
    }
    return false;
  }

  private hasUntil(kind: Kind, since: number): boolean {
    return (this.until.get(kind) ?? Number.NEGATIVE_INFINITY) >= since;
  }

  /** Asks the API server whether the cache lacks changes of the kind. */
  private async check(kind: Kind): Promise<boolean> {
    const { client, clock, versionOf } = this.options;
    const beganAt = clock.now();
    const selectors = this.options.selectors[kind];
    const { answerMs } = probeOf(kind, this.options.probe);
    try {
      const never = new AbortController().signal;
      const watched = { kind, selectors, version: () => versionOf(kind) ?? '' };
      const newest = await newestSince(client, clock, watched, answerMs, never);
      const version = versionOf(kind);
      if (version === undefined || isNewer(newest, version)) return false;
      this.until.set(kind, Math.max(beganAt, this.until.get(kind) ?? beganAt));
      return true;
    } catch {
      return false;
    }
  }
}

export interface ConnectivityListeners {
  /** Called when the API server stops responding and when it responds again; only on changes. */
  readonly onConnectivity?: (state: { readonly connected: boolean; readonly error?: Error }) => void;
  /** Called for a kind that cannot be listed or watched although the server responds (denied, not served). */
  readonly onProblem?: (kind: Kind, error: Error) => void;
}

/** Number of consecutive throttled calls of a kind before they are reported. */
const toleratedThrottles = 5;

/** Tracks whether the API server responds, by kind, and what it refuses. */
export class Connectivity {
  private readonly problems = new Map<Kind, string>();
  private readonly failing = new Set<Kind>();

  constructor(private readonly listeners: ConnectivityListeners) {}

  get connected(): boolean {
    return this.failing.size === 0;
  }

  /** A list or watch of the kind succeeded. */
  reached(kind: Kind): void {
    this.problems.delete(kind);
    this.answered(kind);
  }

  /** The API server responded, possibly with an error. */
  answered(kind: Kind): void {
    if (this.failing.delete(kind) && this.failing.size === 0) this.listeners.onConnectivity?.({ connected: true });
  }

  /** Records a failure; `failures`: the number in a row. */
  failed(kind: Kind, error: Error, failures: number): void {
    if (isDomainError(error, 'Unavailable')) {
      const first = this.failing.size === 0;
      this.failing.add(kind);
      if (first) this.listeners.onConnectivity?.({ connected: false, error });
      return;
    }
    // A refusal is a response.
    this.answered(kind);
    // A server that starts or is busy throttles for a while; it is reported only if that persists.
    if (isDomainError(error, 'Throttled') && failures <= toleratedThrottles) return;
    if (this.problems.get(kind) === error.message) return;
    this.problems.set(kind, error.message);
    this.listeners.onProblem?.(kind, error);
  }
}

/**
 * After an outage of this length the API server may have been restored from a backup, which takes longer than this. A
 * shorter interruption does not require a new list.
 */
const shortestRestoreMs = 3000;
/** A timer that fires this much late means that the process was suspended, long enough for a restore. */
const shortestStopMs = 2000;

interface ContinuityOptions {
  readonly client: Pick<KubeClient, 'listForWatch'>;
  readonly clock: LimiterClock;
  readonly selectors: Readonly<Partial<Record<Kind, ListOptions>>>;
  readonly kinds: readonly Kind[];
  /** How often to check whether the process was suspended, milliseconds. */
  readonly tickMs: number;
}

/**
 * Decides whether a watch may continue from its last version. After a restore the API server counts from an earlier
 * version again: a watch from a version in its future delivers nothing, and once as many writes as were undone have
 * happened, the version exists again with another meaning, so that comparing versions cannot detect missed changes.
 * Therefore the kind is listed again after any interruption in which a restore could have gone unnoticed: an API server
 * that did not respond, or a suspended process.
 */
export class Continuity {
  /** Since when the kind could neither be listed nor watched, milliseconds since the epoch. */
  private readonly awaySince = new Map<Kind, number>();
  /** Kinds to list before they are watched again. */
  private readonly interrupted = new Set<Kind>();
  /** The last time the process was known to run. */
  private ranAt: number;

  constructor(private readonly options: ContinuityOptions) {
    this.ranAt = options.clock.now();
  }

  /** Checks until `signal` aborts whether the process was suspended. */
  async watchOwnTime(signal: AbortSignal): Promise<void> {
    const { clock, tickMs } = this.options;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      this.noteStop();
      // Without the signal, which has many listeners already; ends one tick later.
      await clock.sleep(tickMs, undefined, { inBackground: true });
    }
  }

  /**
   * A watch of the kind is open, or its check got a response. Returns whether the API server was away so long that the
   * kind must be listed.
   */
  reached(kind: Kind): boolean {
    const wasAway = this.wasAway(kind);
    if (wasAway) this.interrupted.add(kind);
    this.awaySince.delete(kind);
    return wasAway;
  }

  /** Records that the kind was listed. */
  listed(kind: Kind): void {
    this.awaySince.delete(kind);
    this.interrupted.delete(kind);
  }

  /**
   * Records that a list, watch or check of the kind failed. Refusal and throttling are responses of a running server.
   */
  failed(kind: Kind, error: unknown): void {
    if (!isDomainError(error, 'Unavailable') || this.awaySince.has(kind)) return;
    this.awaySince.set(kind, this.options.clock.now());
  }

  /**
   * Whether a watch of the kind may start at `version` after this number of consecutive failures; otherwise the kind
   * must be listed.
   */
  async holds(kind: Kind, version: string, failures: number, signal: AbortSignal): Promise<boolean> {
    this.noteStop();
    if (this.wasAway(kind) || this.interrupted.has(kind)) return false;
    if (failures === 0 && !this.awaySince.has(kind)) return true;
    const options = { ...this.options.selectors[kind], signal, versionOnly: true };
    const { resourceVersion } = await this.options.client.listForWatch(kind, options);
    return compareVersions(resourceVersion, version) >= 0;
  }

  private wasAway(kind: Kind): boolean {
    const since = this.awaySince.get(kind);
    return since !== undefined && this.options.clock.now() - since >= shortestRestoreMs;
  }

  /** After a suspension, a restore may have ended any watch that ends. */
  private noteStop(): void {
    const now = this.options.clock.now();
    const { kinds, tickMs } = this.options;
    if (now - this.ranAt >= tickMs + shortestStopMs) for (const kind of kinds) this.interrupted.add(kind);
    this.ranAt = now;
  }
}
