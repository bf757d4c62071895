import { isCancellation, log, rootCause, sleep, TemporalFailure } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowNow } from '../clock.js';
import { HistoryFull } from '../history-limit.js';
import type { Progress } from '../progress.js';

const retryBackOff = { firstMs: 1_000, longestMs: 10_000 };

/**
 * Retries for entity workflows. An activity whose own retries are exhausted is tried again with back-off, and shown
 * meanwhile as phase `retrying`. Cancellations and bugs of the workflow code are rethrown.
 */
export class FailedSteps {
  private failures = 0;
  /** Time of the first of these failures, ISO 8601. */
  private since = '';

  constructor(private readonly progress: Progress) {}

  get hasFailed(): boolean {
    return this.failures > 0;
  }

  /**
   * Does `work` once. After a failure it calls `again`, so that the next round repeats the work, and waits for the
   * back-off. `HistoryFull` is thrown after `again`: the next run does the work.
   */
  async attempt<T>(what: string, work: () => Promise<T>, again: () => void): Promise<T | undefined> {
    try {
      const result = await work();
      this.succeeded();
      return result;
    } catch (error) {
      again();
      if (error instanceof HistoryFull) throw error;
      await this.backOff(what, error);
      return undefined;
    }
  }

  private succeeded(): void {
    this.failures = 0;
    this.progress.setFailing(undefined);
  }

  /** Notes a failure of `what` and sleeps until the next attempt. */
  private async backOff(what: string, error: unknown): Promise<void> {
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    const why = rootCause(error) ?? error.message;
    if (this.failures === 0) this.since = new Date(workflowNow()).toISOString();
    this.failures += 1;
    const wait = backOffMs(this.failures, retryBackOff);
    log.warn(`${what} failed, trying again`, { why, attempts: this.failures });
    this.progress.setFailing({ since: this.since, why });
    this.progress.enter('retrying', { waitingFor: why, until: workflowNow() + wait });
    await sleep(wait, { summary: `try again: ${why}`.slice(0, 200) });
  }
}
