/** How long to wait after the last member has arrived, and after the first, milliseconds. */
interface BatchTimes {
  readonly idleMs: number;
  readonly maxMs: number;
}

/** How long members are remembered after they were released, milliseconds. */
const rememberedMs = 600_000;

/**
 * Releases members together that arrive at about the same time. It does not block: each caller gets the time after
 * which to ask again.
 */
export class InitializationBatches {
  private batch = { since: 0, goesAt: 0, members: new Set<string>() };
  private readonly released = new Map<string, number>();

  constructor(private readonly times: BatchTimes) {}

  /** Whether this member has arrived and was not released. */
  isWaiting(id: string): boolean {
    return this.batch.members.has(id);
  }

  /** Milliseconds until this member is released, at `now`; 0 once it is. */
  waitMs(id: string, now: number): number {
    this.close(now);
    if (this.released.has(id)) return 0;
    const { idleMs, maxMs } = this.times;
    if (this.batch.members.size === 0) this.batch = { since: now, goesAt: now, members: new Set() };
    const { since, members } = this.batch;
    if (!members.has(id)) {
      members.add(id);
      this.batch.goesAt = Math.min(since + maxMs, now + idleMs);
    }
    return this.batch.goesAt - now;
  }

  /** Releases the members when the time has come. */
  private close(now: number): void {
    const { goesAt, members } = this.batch;
    if (now < goesAt) return;
    for (const [id, at] of this.released) if (at + rememberedMs <= now) this.released.delete(id);
    for (const id of members) this.released.set(id, now);
    members.clear();
  }
}
