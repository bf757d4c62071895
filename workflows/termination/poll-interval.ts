const seconds = 1000;
/** Intervals at the beginning, milliseconds. */
const firstPauses = [1, 2, 5, 10, 15].map((pause) => pause * seconds);
/** Intervals after this number of polls without a change. */
const laterPauses = [
  { from: 140, pauseMs: 60 * seconds },
  { from: 40, pauseMs: 30 * seconds },
] as const;

/**
 * The interval between polls of a workflow that waits for the cluster: a second at first, up to a minute after an hour without a
 * change. Each change shortens it by one step.
 */
export class PollInterval {
  private inVain = 0;

  /** Notes a poll, and whether it found a change. */
  polled(hadNews: boolean): void {
    this.inVain = hadNews ? Math.max(0, Math.min(this.inVain, firstPauses.length) - 1) : this.inVain + 1;
  }

  /** Time until the next poll, milliseconds; `dueAt` is when a change is known to be due, milliseconds of the epoch. */
  nextMs(now: number, dueAt?: number): number {
    const pause = pauseAfter(this.inVain);
    return dueAt === undefined ? pause : Math.min(pause, Math.max(leastMs, dueAt - now));
  }
}

/** The least interval, for a `dueAt` that has passed by this clock and not by the other one. */
const leastMs = 250;

function pauseAfter(inVain: number): number {
  const later = laterPauses.find(({ from }) => inVain >= from);
  return later?.pauseMs ?? firstPauses[Math.min(Math.max(0, inVain - 1), firstPauses.length - 1)]!;
}
