import { isDomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';

/**
 * After an outage of this length the API server may have been restored from a backup, which takes longer than this. A
 * shorter interruption does not require a new list.
 */
const shortestRestoreMs = 3000;
/** A timer that fires this much late means that the process was suspended, long enough for a restore. */
const shortestStopMs = 2000;

export interface ContinuityOptions {
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
