import { CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';

/** The least time between rounds that nothing but time causes. */
const leastMs = 1000;

/** The changes that were signalled to a workflow, and when it looks without one. */
export class Changes {
  /** A timer is an action of Temporal Cloud: it is kept over rounds, and replaced only by an earlier one. */
  private timer: { readonly at: number; readonly scope: CancellationScope } | undefined;

  constructor(private isNew: boolean) {}

  /** Something has changed, or has to be done again. */
  note(): void {
    this.isNew = true;
  }

  /** Waits for a change, no longer than `until` (milliseconds of the epoch). */
  async next({
    until,
    summary,
    onWait,
  }: {
    readonly until: number;
    readonly summary: string;
    readonly onWait?: () => void;
  }): Promise<void> {
    if (!this.isNew) onWait?.();
    const at = Math.max(until, workflowNow() + leastMs);
    while (!this.isNew && workflowNow() < at) {
      if (this.timer === undefined || this.timer.at > at) this.begin(at, summary);
      await condition(() => this.isNew || this.timer === undefined);
    }
    this.isNew = false;
  }

  private begin(at: number, summary: string): void {
    this.timer?.scope.cancel();
    const scope = new CancellationScope();
    const timer = { at, scope };
    this.timer = timer;
    const isOver = (): void => {
      if (this.timer === timer) this.timer = undefined;
    };
    scope
      .run(() => sleep(at - workflowNow(), { summary }))
      .then(isOver, (error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }
}
