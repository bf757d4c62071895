const seconds = 1000;
/** Intervals at the beginning, milliseconds. */
const pauses = [1, 2, 5, 10, 15].map((pause) => pause * seconds);
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
    this.pollsWithoutChange = foundChange ? Math.max(0, Math.min(before, pauses.length) - 1) : before + 1;
  }

  /**
   * Time until the next poll, milliseconds; `dueAt` is when a change is known to be due, milliseconds of the epoch. With
   * `onlyThen` no change can come before it.
   */
  nextMs(now: number, dueAt?: number, onlyThen = false): number {
    if (onlyThen && dueAt !== undefined) return Math.max(leastMs, dueAt - now);
    const polls = this.pollsWithoutChange;
    const later = laterPauses.find(({ from }) => polls >= from);
    const pause = later?.pauseMs ?? pauses[Math.min(Math.max(0, polls - 1), pauses.length - 1)]!;
    return dueAt === undefined ? pause : Math.min(pause, Math.max(leastMs, dueAt - now));
  }
}

/** The least interval, for a `dueAt` that has passed by the workflow's clock but not yet by that of the activity. */
const leastMs = 250;
