/** A place at which a process dies once. */
export interface CrashPoint {
  readonly scenario: string;
  /** The workflow's type, or `operator`. */
  readonly of: string;
  /**
   * `after event N`, or `ACTIVITY N`: its N-th in the workflow has taken effect, and its answer is lost. Of the operator
   * `after CALL N`: the N-th of its kind in the scenario, likewise.
   */
  readonly place: string;
}

export interface DeathOptions {
  /** Ends the process. */
  readonly kill: () => void;
  /** Scenarios that never cause a kill, and only take part in others: all lanes would wait for it. */
  readonly onlyJoins: (scenario: string) => boolean;
  /** Once it is up again it does not die for so long, milliseconds: what is passed by meanwhile is for another time. */
  readonly quietMs: number;
  /** What is reached after the first point dies with it, until nothing new was reached for so long, milliseconds. */
  readonly gatherMs: number;
  /** But for no longer than this after the first, milliseconds. */
  readonly gatherAtMostMs: number;
}

/**
 * When a process dies: at each point once, the first time that it comes there. What gets to one meanwhile is held until the process
 * is dead, so that one death is that of several points.
 */
export class Deaths {
  readonly reached: CrashPoint[] = [];
  private readonly seen = new Set<string>();
  private dying: NodeJS.Timeout | undefined;
  /** When it dies at the latest, milliseconds of the epoch. */
  private diesBy = 0;
  /** Milliseconds of the epoch; however long it takes to come up, it gets to do something before it dies again. */
  private quietUntil = 0;
  private isOn = true;

  constructor(private readonly options: DeathOptions) {}

  /** From now on nothing dies any more. */
  end(): void {
    this.isOn = false;
  }

  /** The process is dead: what was held for it is of no use, and the next point is the next death, once it is up. */
  died(): void {
    clearTimeout(this.dying);
    this.dying = undefined;
    this.quietUntil = Number.POSITIVE_INFINITY;
  }

  /** The process is up again. */
  revived(): void {
    this.quietUntil = Date.now() + this.options.quietMs;
  }

  /** Whether this is the last that the process comes to: a point that was not reached yet. */
  isLast(point: CrashPoint): boolean {
    if (!this.isOn || (this.dying === undefined && !this.mayDie(point.scenario))) return false;
    const key = `${point.scenario} ${point.of} ${point.place}`;
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    this.reached.push(point);
    this.gather();
    return true;
  }

  /** What does not wait at a point goes on meanwhile, to the next. */
  private gather(): void {
    const { kill, gatherMs, gatherAtMostMs } = this.options;
    const now = Date.now();
    if (this.dying === undefined) this.diesBy = now + gatherAtMostMs;
    clearTimeout(this.dying);
    this.dying = setTimeout(kill, Math.min(gatherMs, Math.max(0, this.diesBy - now)));
  }

  private mayDie(scenario: string): boolean {
    return Date.now() >= this.quietUntil && !this.options.onlyJoins(scenario);
  }
}
