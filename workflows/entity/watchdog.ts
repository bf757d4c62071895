import { CancellationScope, isCancellation, log, sleep } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { Progress } from '../progress.js';
import { timeText } from '../../core/time.js';

/** Work that takes longer is reported as stalled, and again after each further interval. */
const stalledAfterMs = 2 * 60_000;

/**
 * Shows which step a piece of work is at and since when. Work that takes too long is reported: phase `stalled` with the step, and
 * a warning in the log.
 */
export class Watchdog {
  private step = '';
  private since = 0;
  private isReported = false;

  constructor(private readonly progress: Progress) {}

  /** Called when a step begins. */
  enter(step: string): void {
    this.step = step;
    this.since = workflowNow();
    this.progress.addFacts({ 'busy with': this.text });
    if (this.isReported) this.progress.enter('stalled', { waitingFor: this.text });
  }

  /** Runs `work` and watches how long its steps take. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const watch = new CancellationScope();
    const watching = watch.run(() => this.watch());
    try {
      return await work();
    } finally {
      watch.cancel();
      await watching;
      if (this.isReported) this.progress.enter('watching');
      this.isReported = false;
      this.progress.addFacts({ 'busy with': 'nothing' });
    }
  }

  private async watch(): Promise<void> {
    try {
      for (;;) {
        await sleep(stalledAfterMs, { summary: 'check for a stalled step' });
        this.report();
      }
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  private report(): void {
    this.isReported = true;
    const minutes = Math.round((workflowNow() - this.since) / 60_000);
    log.warn('a step takes too long', { step: this.step, minutes });
    this.progress.enter('stalled', { waitingFor: this.text });
  }

  private get text(): string {
    return `${this.step}, since ${timeText(this.since)}`;
  }
}
