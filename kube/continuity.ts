import { isDomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';

/**
 * An API server that was away for this long may have been restored from a backup. In less time nobody stops it, replaces its data
 * and starts it, and a connection that merely broke costs no list.
 */
const shortestRestoreMs = 3000;
/** A process that comes to itself this much later than it meant to was stopped, and leaves time for a restore. */
const shortestStopMs = 2000;

export interface ContinuityOptions {
  readonly client: Pick<KubeClient, 'listForWatch'>;
  readonly clock: LimiterClock;
  readonly selectors: Readonly<Partial<Record<Kind, ListOptions>>>;
  readonly kinds: readonly Kind[];
  /** How often the process looks whether it was stopped itself, milliseconds. */
  readonly tickMs: number;
}

/**
 * Whether a watch may go on from the version that the one before came to. After a restore the API server counts from an earlier version again. Then
 * a watch from a version that is yet to come tells of nothing; and once others have written as much as was undone, the version is there again and
 * stands for something else, so that no comparison of versions shows what was missed. So whatever leaves time for a restore that nobody saw has
 * the kind listed: an API server that did not answer, and a process that was stopped itself.
 */
export class Continuity {
  /** Since when the kind could neither be listed nor watched, milliseconds of the epoch. */
  private readonly awaySince = new Map<Kind, number>();
  /** Kinds that have to be listed before they are watched again. */
  private readonly interrupted = new Set<Kind>();
  /** When the process was last seen to run. */
  private ranAt: number;

  constructor(private readonly options: ContinuityOptions) {
    this.ranAt = options.clock.now();
  }

  /** Looks for as long as `signal` lets it whether the process was stopped. */
  async watchOwnTime(signal: AbortSignal): Promise<void> {
    const { clock, tickMs } = this.options;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      this.noteStop();
      // Without the signal, to which every kind listens already: it ends a tick later.
      await clock.sleep(tickMs, undefined, { inBackground: true });
    }
  }

  /** A watch of the kind is open, or its check was answered. Gives whether the API server was away before for so long that the kind has to be listed. */
  reached(kind: Kind): boolean {
    const wasAway = this.wasAway(kind);
    if (wasAway) this.interrupted.add(kind);
    this.awaySince.delete(kind);
    return wasAway;
  }

  /** The kind was listed. */
  listed(kind: Kind): void {
    this.awaySince.delete(kind);
    this.interrupted.delete(kind);
  }

  /** A list, a watch or a check of the kind failed. One that is refused or throttled is answered by a server that runs. */
  failed(kind: Kind, error: unknown): void {
    if (!isDomainError(error, 'Unavailable') || this.awaySince.has(kind)) return;
    this.awaySince.set(kind, this.options.clock.now());
  }

  /** Whether a watch of the kind may begin at `version`, after so many failures in a row; otherwise the kind has to be listed. */
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

  /** After a stop every watch that ends may have been ended by a restore. */
  private noteStop(): void {
    const now = this.options.clock.now();
    const { kinds, tickMs } = this.options;
    if (now - this.ranAt >= tickMs + shortestStopMs) for (const kind of kinds) this.interrupted.add(kind);
    this.ranAt = now;
  }
}
