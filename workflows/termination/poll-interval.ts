const seconds = 1000;
/** Intervals at the beginning, milliseconds. */
const firstPauses = [1, 2, 5, 10, 15].map((pause) => pause * seconds);
/** Intervals after this number of polls without a change. */
const laterPauses = [
  { from: 140, pauseMs: 60 * seconds },
  { from: 40, pauseMs: 30 * seconds },
] as const;

/**
 * The interval between polls of a workflow that waits for the cluster: a second at first, up to a minute after an hour
 * without a change. Each change shortens it by one step.
 */
export class PollInterval {
  private pollsWithoutChange = 0;

  /** Notes a poll, and whether it found a change. */
  polled(foundChange: boolean): void {
    const before = this.pollsWithoutChange;
    this.pollsWithoutChange = foundChange ? Math.max(0, Math.min(before, firstPauses.length) - 1) : before + 1;
  }

  /** Time until the next poll, milliseconds; `dueAt` is when a change is known to be due, milliseconds of the epoch. */
  nextMs(now: number, dueAt?: number): number {
    const pause = pauseAfter(this.pollsWithoutChange);
    return dueAt === undefined ? pause : Math.min(pause, Math.max(leastMs, dueAt - now));
  }
}

/** The least interval, for a `dueAt` that has passed by the workflow's clock but not yet by that of the activity. */
const leastMs = 250;

function pauseAfter(polls: number): number {
  const later = laterPauses.find(({ from }) => polls >= from);
  return later?.pauseMs ?? firstPauses[Math.min(Math.max(0, polls - 1), firstPauses.length - 1)]!;
}
