import { condition } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';

/**
 * What an entity workflow is told of changes. One change causes many signals, such as the rollout of a Deployment, and they should
 * cause one round: further changes have time to settle.
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
      await condition(() => this.isNew, Math.max(this.settleMs, until - workflowNow()), { summary });
    }
    await condition(() => false, this.settleMs, { summary: 'changes to settle' });
    this.isNew = false;
  }
}
