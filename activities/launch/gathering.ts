/** How long to wait after the last, and after the first member came, milliseconds. */
export interface GatheringTimes {
  readonly idleMs: number;
  readonly maxMs: number;
}

/** How long members are remembered after they were released, milliseconds. */
const rememberedMs = 600_000;

/**
 * Releases members together that arrive at about the same time. It does not block: each caller gets the time after which to ask
 * again.
 */
export class Gathering {
  private round = { since: 0, goesAt: 0, members: new Set<string>() };
  private readonly gone = new Map<string, number>();

  constructor(private readonly times: GatheringTimes) {}

  /** Whether this member has arrived and was not released. */
  awaits(id: string): boolean {
    return this.round.members.has(id);
  }

  /** After how many milliseconds this member is released, at `now`; 0 once it is. */
  joins(id: string, now: number): number {
    this.close(now);
    if (this.gone.has(id)) return 0;
    const { idleMs, maxMs } = this.times;
    if (this.round.members.size === 0) this.round = { since: now, goesAt: now, members: new Set() };
    const { since, members } = this.round;
    if (!members.has(id)) {
      members.add(id);
      this.round.goesAt = Math.min(since + maxMs, now + idleMs);
    }
    return this.round.goesAt - now;
  }

  /** Releases the members when the time has come. */
  private close(now: number): void {
    const { goesAt, members } = this.round;
    if (now < goesAt) return;
    for (const [id, at] of this.gone) if (at + rememberedMs <= now) this.gone.delete(id);
    for (const id of members) this.gone.set(id, now);
    members.clear();
  }
}
