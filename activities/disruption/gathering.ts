/** How long a gathering stays open after whoever came last, and after whoever came first, milliseconds. */
export interface GatheringTimes {
  readonly idleMs: number;
  readonly maxMs: number;
}

/** Lets those go together that come at about the same time. */
export class Gathering {
  private waiting: (() => void)[] = [];
  private idle: NodeJS.Timeout | undefined;
  private longest: NodeJS.Timeout | undefined;

  constructor(private readonly times: GatheringTimes) {}

  /** Resolves when nobody else has come for `idleMs`, or the first has waited for `maxMs`; for all at once. */
  join(): Promise<void> {
    const { idleMs, maxMs } = this.times;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.go(), idleMs);
    this.longest ??= setTimeout(() => this.go(), maxMs);
    return new Promise((resolve) => void this.waiting.push(resolve));
  }

  private go(): void {
    clearTimeout(this.idle);
    clearTimeout(this.longest);
    this.longest = undefined;
    const all = this.waiting;
    this.waiting = [];
    for (const resolve of all) resolve();
  }
}
