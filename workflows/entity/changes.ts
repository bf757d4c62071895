import { condition } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';

/**
 * The changes that were signalled to an entity workflow. One event causes many signals, such as the rollout of a
 * Deployment, so it waits until they have settled and does one round for all.
 */
export class Changes {
  private isNew = true;

  constructor(private readonly settleMs: number) {}

  /** Something has changed, or has to be done again. */
  note(): void {
    this.isNew = true;
  }

  /** Waits for a change, no longer than `until` (milliseconds of the epoch), and then until changes have settled. */
  async next({
    until,
    summary,
    onWait,
  }: {
    readonly until: number;
    readonly summary: string;
    readonly onWait?: () => void;
  }): Promise<void> {
    if (!this.isNew) {
      onWait?.();
      const isChanged = await condition(() => this.isNew, Math.max(this.settleMs, until - workflowNow()), { summary });
      if (!isChanged) return;
    }
    await condition(() => false, this.settleMs, { summary: 'changes to settle' });
    this.isNew = false;
  }
}
