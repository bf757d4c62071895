/** What a run has counted so far; carried over by continue-as-new. Times in milliseconds of the epoch. */
export interface WatchedTimeState {
  readonly countedMs: number;
  readonly lastLookAt: number;
  /** When the last outage was over. */
  readonly backAt?: number;
}

export interface WatchedTimeOptions {
  /** What may happen within this time of looking counts against nobody else, milliseconds. */
  readonly allowedMs: number;
  /** Looks are at most this far apart while everything works, milliseconds. */
  readonly lookEveryMs: number;
  /** After an outage there is at least this long for what could not happen meanwhile, milliseconds. */
  readonly recoveryMs: number;
}

/** A look takes no longer, waiting for a worker included, while everything works. */
const lookTakesMs = 15_000;

/**
 * A time limit that counts only while somebody could look. A look that comes late had to wait for the API server, for Temporal
 * or for a worker, and what it looks for may have waited with it: of such a gap no more than one interval counts.
 */
export class WatchedTime {
  private countedMs: number;
  private lastLookAt: number;
  private backAt: number | undefined;

  constructor(
    begun: { readonly since: number } | WatchedTimeState,
    private readonly options: WatchedTimeOptions,
  ) {
    const state: WatchedTimeState = 'since' in begun ? { countedMs: 0, lastLookAt: begun.since } : begun;
    this.countedMs = state.countedMs;
    this.lastLookAt = state.lastLookAt;
    this.backAt = state.backAt;
  }

  get state(): WatchedTimeState {
    const { countedMs, lastLookAt, backAt } = this;
    return { countedMs, lastLookAt, ...(backAt === undefined ? {} : { backAt }) };
  }

  /** Somebody has looked, at `now`. */
  looked(now: number): void {
    const { lookEveryMs } = this.options;
    const gap = Math.max(0, now - this.lastLookAt);
    const isLate = gap > lookEveryMs + lookTakesMs;
    this.countedMs += isLate ? lookEveryMs : gap;
    if (isLate) this.backAt = now;
    this.lastLookAt = now;
  }

  /** When the time will be up, as far as can be told from the last look. */
  get endsAt(): number {
    const { allowedMs, recoveryMs } = this.options;
    const rest = this.lastLookAt + Math.max(0, allowedMs - this.countedMs);
    return this.backAt === undefined ? rest : Math.max(rest, this.backAt + recoveryMs);
  }

  /** Whether the time was up at the last look. */
  get isOver(): boolean {
    return this.endsAt <= this.lastLookAt;
  }
}
