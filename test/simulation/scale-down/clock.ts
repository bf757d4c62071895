/** Lets everything run that waits for no time; gives when nothing does any more. */
type Settle = () => Promise<void>;

/** A clock that goes on only when everything that is under way waits for it. */
export class VirtualClock {
  private sleepers: { readonly at: number; readonly order: number; readonly wake: () => void }[] = [];
  private count = 0;

  /** `now` is in milliseconds of the epoch. */
  constructor(public now: number) {}

  sleep(milliseconds: number): Promise<void> {
    return new Promise((wake) => {
      this.sleepers.push({ at: this.now + Math.max(0, milliseconds), order: this.count++, wake });
    });
  }

  /** Wakes sleepers one after the other, in the order of their time, until `isOver`. */
  async run(isOver: () => boolean, settle: Settle): Promise<void> {
    await settle();
    while (!isOver()) {
      const next = this.sleepers.reduce<(typeof this.sleepers)[number] | undefined>(
        (first, each) => (first === undefined || isBefore(each, first) ? each : first),
        undefined,
      );
      if (next === undefined) return;
      this.sleepers = this.sleepers.filter((each) => each !== next);
      this.now = Math.max(this.now, next.at);
      next.wake();
      await settle();
    }
  }
}

function isBefore(a: { at: number; order: number }, b: { at: number; order: number }): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Something that may happen at any time: a waiter goes on when it is set, and it stays set until it is cleared. */
export class Flag {
  private raised = false;
  private waiting: (() => void)[] = [];

  set(): void {
    this.raised = true;
    for (const wake of this.waiting.splice(0)) wake();
  }

  clear(): void {
    this.raised = false;
  }

  get isSet(): boolean {
    return this.raised;
  }

  /** Until it is set, or for so long at most. */
  async within(clock: VirtualClock, milliseconds: number): Promise<void> {
    if (!this.raised) await Promise.race([this.next(), clock.sleep(milliseconds)]);
  }

  /** Until it is set. */
  async next(): Promise<void> {
    if (!this.raised) await new Promise<void>((wake) => void this.waiting.push(wake));
  }
}

/** What is to be done one after the other. */
export class Inbox<T> {
  private readonly waiting: T[] = [];
  private readonly filled = new Flag();

  add(each: T): void {
    this.waiting.push(each);
    this.filled.set();
  }

  /** The first that came and was not taken yet, once there is one. */
  async next(): Promise<T> {
    while (this.waiting.length === 0) {
      this.filled.clear();
      await this.filled.next();
    }
    return this.waiting.shift()!;
  }
}
