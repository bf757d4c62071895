/** State carried over by continue-as-new. Times are in milliseconds of the epoch. */
export interface OutageAwareTimeoutState {
  readonly countedMs: number;
  readonly lastCheckAt: number;
  /** When the last outage ended. */
  readonly backAt?: number;
}

interface OutageAwareTimeoutOptions {
  /** The timeout, milliseconds, outages apart. */
  readonly allowedMs: number;
  /** Interval of the checks while everything works, milliseconds. */
  readonly checkEveryMs: number;
  /** Time that is left at least after an outage, milliseconds. */
  readonly recoveryMs: number;
}

/** A check takes at most this long, including the wait for a worker, while everything works. */
const checkTakesMs = 15_000;

/**
 * A timeout that does not count outages. A late check means that the API server, Temporal or all workers were
 * unavailable, so that the awaited event could not happen either: such a gap counts as one interval.
 */
export class OutageAwareTimeout {
  private countedMs: number;
  private lastCheckAt: number;
  private backAt: number | undefined;

  constructor(
    begun: { readonly since: number } | OutageAwareTimeoutState,
    private readonly options: OutageAwareTimeoutOptions,
  ) {
    const state: OutageAwareTimeoutState = 'since' in begun ? { countedMs: 0, lastCheckAt: begun.since } : begun;
    this.countedMs = state.countedMs;
    this.lastCheckAt = state.lastCheckAt;
    this.backAt = state.backAt;
  }

  get state(): OutageAwareTimeoutState {
    const { countedMs, lastCheckAt, backAt } = this;
    return { countedMs, lastCheckAt, ...(backAt === undefined ? {} : { backAt }) };
  }

  /** Notes a check at `now`. */
  checked(now: number): void {
    const { checkEveryMs } = this.options;
    const gap = Math.max(0, now - this.lastCheckAt);
    const isLate = gap > checkEveryMs + checkTakesMs;
    this.countedMs += isLate ? checkEveryMs : gap;
    if (isLate) this.backAt = now;
    this.lastCheckAt = now;
  }

  /** When the timeout will end if there is no further outage. */
  get endsAt(): number {
    const { allowedMs, recoveryMs } = this.options;
    const rest = this.lastCheckAt + Math.max(0, allowedMs - this.countedMs);
    return this.backAt === undefined ? rest : Math.max(rest, this.backAt + recoveryMs);
  }

  /** Whether the timeout had ended at the last check. */
  get isOver(): boolean {
    return this.endsAt <= this.lastCheckAt;
  }
}
