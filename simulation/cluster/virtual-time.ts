import { syncBuiltinESMExports } from 'node:module';
import FakeTimers from '@sinonjs/fake-timers';

/** Before anything is faked. */
const turn = setImmediate;
/** Turns of the event loop without any sign of life after which everything waits for time. */
const quietTurns = 4;

/**
 * Time of its own for everything in the process: timers fire when `advance` says so, one after the other, each once everything
 * that the one before began waits for time again. One at a time: it replaces the process' own timers.
 */
export class VirtualTime {
  private readonly clock;

  /** @param signsOfLife counts up for as long as anything goes on */
  constructor(
    startMs: number,
    private readonly signsOfLife: () => number,
  ) {
    this.clock = FakeTimers.install({
      now: startMs,
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
    });
    // Those of node:timers/promises too.
    syncBuiltinESMExports();
  }

  get now(): number {
    return this.clock.now;
  }

  /** Lets everything run that waits for no time. */
  async settle(): Promise<void> {
    for (let [quiet, before] = [0, this.signsOfLife()]; quiet < quietTurns;) {
      await new Promise<void>((resolve) => void turn(resolve));
      const after = this.signsOfLife();
      quiet = after === before ? quiet + 1 : 0;
      before = after;
    }
  }

  /** Fires timers until `untilMs` (milliseconds of the epoch), or until `isOver`. */
  async advance(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    let isDue = untilMs <= this.clock.now;
    const due = setTimeout(() => void (isDue = true), untilMs - this.clock.now);
    await this.settle();
    while (!isDue && !isOver()) {
      this.clock.next();
      await this.settle();
    }
    clearTimeout(due);
  }

  restore(): void {
    this.clock.uninstall();
    syncBuiltinESMExports();
  }
}
