import type { Clock } from './clock.js';

export interface CallWindow {
  /** The batch goes out when nothing was added for this long … */
  readonly idleMs: number;
  /** … or this long after the first was added … */
  readonly maxMs: number;
  /** … or when it holds this many. */
  readonly maxItems: number;
}

/** Gathers single requests into one call; every caller gets the answer to its own request. */
export class Batcher<Request, Answer> {
  private pending: { request: Request; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  private openedAt = 0;
  private addedAt = 0;
  private timing = false;

  constructor(
    private readonly window: CallWindow,
    private readonly clock: Clock,
    /** Answers in the order of the requests. A failure fails every caller of the batch. */
    private readonly perform: (requests: readonly Request[]) => Promise<readonly Answer[]>,
  ) {}

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.addedAt = this.clock.now();
      if (this.pending.length === 0) this.openedAt = this.addedAt;
      this.pending.push({ request, resolve, reject });
      if (this.pending.length >= this.window.maxItems) this.flush();
      else if (!this.timing) void this.wait();
    });
  }

  private async wait(): Promise<void> {
    this.timing = true;
    while (this.pending.length > 0) {
      const now = this.clock.now();
      const due = Math.min(this.addedAt + this.window.idleMs, this.openedAt + this.window.maxMs);
      const left = due - now;
      // A clock that was set back would have the batch wait for as long.
      if (left <= 0 || now < this.openedAt) this.flush();
      else await this.clock.sleep(left);
    }
    this.timing = false;
  }

  private flush(): void {
    const batch = this.pending;
    this.pending = [];
    this.perform(batch.map(({ request }) => request)).then(
      (answers) => batch.forEach(({ resolve }, index) => resolve(answers[index]!)),
      (error: unknown) => batch.forEach(({ reject }) => reject(error)),
    );
  }
}
