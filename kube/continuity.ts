import { isDomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';

/**
 * An API server that was away for this long may have been restored from a backup. In less time nobody stops it, replaces its data
 * and starts it, and a connection that merely broke costs no list.
 */
const shortestRestoreMs = 3000;

export interface ContinuityOptions {
  readonly client: Pick<KubeClient, 'listForWatch'>;
  readonly clock: Pick<LimiterClock, 'now'>;
  readonly selectors: Readonly<Partial<Record<Kind, ListOptions>>>;
}

/**
 * Whether a watch may go on from the version that the one before came to. After a restore the API server counts from an earlier version again. Then
 * a watch from a version that is yet to come tells of nothing; and once others have written as much as was undone, the version is there again and
 * stands for something else, so that no comparison of versions shows what was missed.
 */
export class Continuity {
  /** Since when the kind could neither be listed nor watched, milliseconds of the epoch. */
  private readonly awaySince = new Map<Kind, number>();

  constructor(private readonly options: ContinuityOptions) {}

  /** The kind was listed, or a watch of it is open, or its check was answered. */
  reached(kind: Kind): void {
    this.awaySince.delete(kind);
  }

  /** A list, a watch or a check of the kind failed. One that is refused or throttled is answered by a server that runs. */
  failed(kind: Kind, error: unknown): void {
    if (!isDomainError(error, 'Unavailable') || this.awaySince.has(kind)) return;
    this.awaySince.set(kind, this.options.clock.now());
  }

  /** Whether a watch of the kind may begin at `version`, after so many failures in a row; otherwise the kind has to be listed. */
  async holds(kind: Kind, version: string, failures: number, signal: AbortSignal): Promise<boolean> {
    const since = this.awaySince.get(kind);
    if (since !== undefined && this.options.clock.now() - since >= shortestRestoreMs) return false;
    if (failures === 0 && since === undefined) return true;
    const options = { ...this.options.selectors[kind], signal, versionOnly: true };
    const { resourceVersion } = await this.options.client.listForWatch(kind, options);
    return compareVersions(resourceVersion, version) >= 0;
  }
}
