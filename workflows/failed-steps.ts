import { isCancellation, log, rootCause, sleep, TemporalFailure } from '@temporalio/workflow';
import { backOffMs } from '../core/back-off.js';
import { workflowNow } from './clock.js';
import type { Progress } from './progress.js';

const backOff = { firstMs: 1_000, longestMs: 10_000 };
const asideBackOff = { firstMs: 1_000, longestMs: 60_000 };

/**
 * For workflows that run for good: what failed for good once is tried again, ever more rarely, and shown meanwhile as phase
 * `retrying`. Cancellations and defects of the workflow itself are thrown on.
 */
export class FailedSteps {
  private failures = 0;
  /** When the first of them was, ISO 8601. */
  private since = '';

  constructor(private readonly progress: Progress) {}

  get hasFailed(): boolean {
    return this.failures > 0;
  }

  succeeded(): void {
    this.failures = 0;
    this.progress.fails(undefined);
  }

  /** Waits until it is time for the next attempt. */
  async rest(what: string, error: unknown): Promise<void> {
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    const why = rootCause(error) ?? error.message;
    if (this.failures === 0) this.since = new Date(workflowNow()).toISOString();
    this.failures += 1;
    const wait = backOffMs(this.failures, backOff);
    log.warn(`${what} failed, trying again`, { why, attempts: this.failures });
    this.progress.fails({ since: this.since, why });
    this.progress.enter('retrying', { waitingFor: why, until: workflowNow() + wait });
    await sleep(wait, { summary: `try again: ${why}`.slice(0, 200) });
  }
}

/**
 * Does `step` over and over beside the other work of a workflow that runs for good. One that fails is done again, ever more rarely, and ends nothing
 * but itself.
 */
export async function overAndOver(what: string, step: () => Promise<void>): Promise<void> {
  for (let failures = 0; ;) {
    try {
      await step();
      failures = 0;
    } catch (error) {
      if (isCancellation(error)) return;
      if (!(error instanceof TemporalFailure)) throw error;
      failures += 1;
      const why = rootCause(error) ?? error.message;
      log.warn(`${what} failed, trying again`, { why, attempts: failures });
      await sleep(backOffMs(failures, asideBackOff), { summary: `try again: ${why}`.slice(0, 200) });
    }
  }
}
