const seconds = 1000;
/** Between the first looks, milliseconds. */
const firstPauses = [1, 2, 5, 10, 15].map((pause) => pause * seconds);
/** What lasts long is looked at less often: from so many looks in a row without news, milliseconds between them. */
const laterPauses = [
  { from: 140, pauseMs: 60 * seconds },
  { from: 40, pauseMs: 30 * seconds },
] as const;

/**
 * How far apart the looks are of a workflow that waits for the world: a second at first, a minute at most where nothing happens
 * for an hour. News brings them closer together again, a step at a time.
 */
export class Looks {
  private inVain = 0;

  /** One has been made. */
  made(hadNews: boolean): void {
    this.inVain = hadNews ? Math.max(0, Math.min(this.inVain, firstPauses.length) - 1) : this.inVain + 1;
  }

  /** Until the next one, milliseconds; `dueAt`, milliseconds of the epoch, is when something is known to change. */
  pauseMs(now: number, dueAt?: number): number {
    const pause = pauseAfter(this.inVain);
    return dueAt === undefined ? pause : Math.min(pause, Math.max(leastMs, dueAt - now));
  }
}

/** What is due at once by another clock is not looked at without a pause. */
const leastMs = 250;

function pauseAfter(inVain: number): number {
  const later = laterPauses.find(({ from }) => inVain >= from);
  return later?.pauseMs ?? firstPauses[Math.min(Math.max(0, inVain - 1), firstPauses.length - 1)]!;
}
