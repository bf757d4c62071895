import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';
import { isNewer, newestSince, probeOf, type WatchProbeOptions } from './watch-probe.js';

export interface FreshnessOptions {
  readonly client: Pick<KubeClient, 'watch'>;
  readonly clock: LimiterClock;
  readonly selectors: Readonly<Partial<Record<Kind, ListOptions>>>;
  readonly probe: Partial<WatchProbeOptions> | undefined;
  /** The version until which the cache has the kind; undefined before its first list. */
  readonly versionOf: (kind: Kind) => string | undefined;
}

/** Until when the cache has everything, by kind: milliseconds of the epoch. */
export class Freshness {
  private readonly until = new Map<Kind, number>();
  private readonly checks = new Map<Kind, Promise<boolean>>();

  constructor(private readonly options: FreshnessOptions) {}

  /** The earliest of all kinds; undefined while there is none. */
  get ofAll(): number | undefined {
    return this.until.size > 0 ? Math.min(...this.until.values()) : undefined;
  }

  /** Records that everything of the kind until `at` is in the cache. */
  advance(kind: Kind, at: number): void {
    this.until.set(kind, at);
  }

  /** Whether everything of the kind until `since` is in the cache. Asks the API server where that is not known. */
  async isFresh(kind: Kind, since: number): Promise<boolean> {
    if (this.hasUntil(kind, since)) return true;
    // One that runs already may have begun too early.
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

  /** Asks the API server whether the cache lacks anything of the kind. */
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
