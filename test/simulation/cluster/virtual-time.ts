import { AsyncResource } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import FakeTimers from '@sinonjs/fake-timers';
import { Immediates } from './immediates.js';

/** Before anything is faked. */
const turn = setImmediate;

/** A timer's callback runs in the context that set it, as with real ones: an activity's heartbeat finds its activity. */
function keepAsyncContext(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const faked = globalThis[name] as (then: () => void, ...rest: unknown[]) => NodeJS.Timeout;
    // Not by `AsyncResource.bind`, which makes four more functions and a warning for each of them.
    const bound = (then: () => void, ...rest: unknown[]): NodeJS.Timeout => {
      const owner = new AsyncResource('timer');
      return faked(() => owner.runInAsyncScope(then), ...rest);
    };
    globalThis[name] = Object.assign(bound, faked) as unknown as typeof setTimeout;
  }
}

/** `AbortSignal.timeout` uses the machine's clock, even where the timers of the process are replaced. */
function timeoutSignal(milliseconds: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), milliseconds);
  return controller.signal;
}

/**
 * Virtual time for everything in the process: timers fire when `advance` says so, one after the other, each once everything
 * that the one before began waits for time again. One at a time: it replaces the process' own timers.
 */
export class VirtualTime {
  private readonly clock;
  private readonly immediates = new Immediates();
  private readonly machineTimeout = Object.getOwnPropertyDescriptor(AbortSignal, 'timeout')!;

  /**
   * @param signsOfLife counts up for as long as anything goes on
   * @param signal rejects all that wait for the time, with its reason
   */
  constructor(
    startMs: number,
    private readonly signsOfLife: () => number,
    private readonly signal?: AbortSignal,
  ) {
    this.clock = FakeTimers.install({
      now: startMs,
      // `performance` too: queues of the operator go by it.
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
    keepAsyncContext();
    AbortSignal.timeout = timeoutSignal;
    // Those of node:timers/promises too.
    syncBuiltinESMExports();
  }

  get now(): number {
    return this.clock.now;
  }

  /** Lets everything run that waits for no time: after a turn of the event loop nothing is left but what the turn itself began. */
  async settle(): Promise<void> {
    for (let [isQuiet, before] = [false, this.signsOfLife()]; !isQuiet;) {
      await new Promise<void>((resolve) => void turn(resolve));
      this.signal?.throwIfAborted();
      const after = this.signsOfLife();
      isQuiet = after === before && !this.immediates.areWaiting;
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

  /** Fires the next timer, whenever it is due; false where there is none. */
  async next(): Promise<boolean> {
    const isThere = this.clock.countTimers() > 0;
    if (isThere) this.clock.next();
    await this.settle();
    return isThere;
  }

  restore(): void {
    this.clock.uninstall();
    this.immediates.restore();
    Object.defineProperty(AbortSignal, 'timeout', this.machineTimeout);
    syncBuiltinESMExports();
  }
}
