import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';
import { isNewer, newestSince, probeOf, type WatchProbeOptions } from './watch-probe.js';

export interface FreshnessOptions {
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
