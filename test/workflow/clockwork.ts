import type { VirtualTime } from '../simulation/cluster/virtual-time.js';

const stepMs = 20;
/** An activity that is held for longer than that is held by mistake. */
const longestHeldMs = 10 * 60_000;

interface Waiter {
  readonly skips: boolean;
  /** Looked at whenever everything waits for time. */
  readonly holds: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Advances simulated time while there are waiters, as a server that skips time does: from one timer to the next while
 * a waiter allows skipping and no activity runs, by small steps otherwise.
 */
export class Clockwork {
  private readonly waiters = new Set<Waiter>();
  private driving: Promise<void> | undefined;

  /** @param isHeld whether a worker has an activity in hand */
  constructor(
    private readonly time: VirtualTime,
    private readonly isHeld: () => boolean,
  ) {}

  /** Time goes on until the promise is settled. */
  async during<T>(result: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = result.finally(() => (isSettled = true));
    await Promise.race([this.until(() => isSettled), settled.catch(() => undefined)]);
    return result;
  }

  /** Time goes on until something holds. Rejects where nothing is left that could bring it about. */
  async until(holds: () => boolean, { skips = false } = {}): Promise<void> {
    const held = new Promise<void>((resolve, reject) => {
      this.waiters.add({ skips, holds, resolve, reject });
    });
    this.driving ??= this.drive().finally(() => (this.driving = undefined));
    return held;
  }

  private async drive(): Promise<void> {
    let heldMs = 0;
    while (await this.isAwaited()) {
      const skips = [...this.waiters].some((waiter) => waiter.skips);
      const isHeld = this.isHeld();
      heldMs = isHeld && skips ? heldMs + stepMs : 0;
      if (heldMs > longestHeldMs) this.giveUp('an activity is held, and time cannot be skipped');
      else if (!skips || isHeld) await this.time.advance(this.time.now + stepMs);
      else if (!(await this.time.next())) await this.giveUpUnlessHeld();
    }
  }

  /** Whether anything still waits, once those whose time has come are woken and have run. */
  private async isAwaited(): Promise<boolean> {
    await this.time.settle();
    for (const waiter of this.waiters) {
      if (!waiter.holds()) continue;
      this.waiters.delete(waiter);
      waiter.resolve();
    }
    await this.time.settle();
    return this.waiters.size > 0;
  }

  /** Nothing is due: what does not hold by now never will. Who comes meanwhile has its turn. */
  private async giveUpUnlessHeld(): Promise<void> {
    const present = [...this.waiters];
    await this.isAwaited();
    this.giveUp(
      'nothing is due any more',
      present.filter((waiter) => this.waiters.has(waiter)),
    );
  }

  private giveUp(why: string, waiters: Iterable<Waiter> = [...this.waiters]): void {
    for (const waiter of waiters) {
      this.waiters.delete(waiter);
      waiter.reject(new Error(`waited in vain: ${why}`));
    }
  }
}
