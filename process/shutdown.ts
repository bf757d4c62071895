import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';

/** How a process ends: it stops beginning things, finishes what only it can finish, and ends. Told twice, it ends at once. */
export class Shutdown {
  private readonly stopped = new AbortController();
  private readonly ended = new AbortController();
  private readonly work: (() => Promise<void>)[] = [];

  constructor() {
    // Every part of the process hangs on these two.
    for (const { signal } of [this.stopped, this.ended]) setMaxListeners(0, signal);
  }

  /** Aborts when the process is told to end. */
  get stopping(): AbortSignal {
    return this.stopped.signal;
  }

  /** Aborts once what is to be finished is. */
  get ending(): AbortSignal {
    return this.ended.signal;
  }

  /** Has `work` done between the two, for `mostMs` milliseconds at most: a call to a server that is silent never ends. */
  finish(work: () => Promise<void>, mostMs: number): void {
    this.work.push(() => Promise.race([work(), setTimeout(mostMs, undefined, { signal: this.ending, ref: false })]));
  }

  /** Tells the process to end. */
  readonly request = (): void => {
    if (this.stopped.signal.aborted) {
      this.end();
      return;
    }
    this.stopped.abort();
    void Promise.allSettled(this.work.map((each) => each())).then(() => this.end());
  };

  /** Ends it now, whatever is unfinished. */
  end(): void {
    this.stopped.abort();
    this.ended.abort();
  }
}
