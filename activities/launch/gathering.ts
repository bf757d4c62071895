/** How long a gathering stays open after whoever came last, and after whoever came first, milliseconds. */
export interface GatheringTimes {
  readonly idleMs: number;
  readonly maxMs: number;
}

/** Who went is known for so long to have gone, milliseconds. */
const rememberedMs = 600_000;

/** Lets those go together that come at about the same time. Nobody is held: each is told when to come again. */
export class Gathering {
  private round = { since: 0, goesAt: 0, members: new Set<string>() };
  private readonly gone = new Map<string, number>();

  constructor(private readonly times: GatheringTimes) {}

  /** Whether somebody of this id has come and not gone yet. */
  awaits(id: string): boolean {
    return this.round.members.has(id);
  }

  /** In how many milliseconds whoever has this id may go, at `now`; 0 for at once, and from then on. */
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

  /** Those who came go once it is time. */
  private close(now: number): void {
    const { goesAt, members } = this.round;
    if (now < goesAt) return;
    for (const [id, at] of this.gone) if (at + rememberedMs <= now) this.gone.delete(id);
    for (const id of members) this.gone.set(id, now);
    members.clear();
  }
}
