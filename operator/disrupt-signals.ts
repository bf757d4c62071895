import type { Log } from '../core/telemetry.js';
import type { Starter } from './starter.js';
import { WorkQueue } from './work-queue.js';

/**
 * Minimum time between signals, whatever changed. During a series of changes each signal costs a workflow task, and its search result is
 * outdated when it ends (Karpenter searches every ten seconds).
 */
const gapMs = 5000;

/**
 * Signals `disrupt` that something changed: retried until it succeeds, and sent at most once in `gapMs`. Changes in
 * between are signalled after that time.
 */
export class DisruptSignals {
  private readonly queue: WorkQueue;
  private pause: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: { readonly starter: Pick<Starter, 'disrupt'>; readonly log: Log }) {
    this.queue = new WorkQueue('signalling disrupt', () => this.send(starter), log, 1);
  }

  signal(): void {
    if (this.pause === undefined) this.queue.add('cluster');
    else this.more = true;
  }

  stop(): void {
    clearTimeout(this.pause);
    this.queue.stop();
  }

  private async send(starter: Pick<Starter, 'disrupt'>): Promise<undefined> {
    // A change during the signal.
    this.more = this.pause !== undefined;
    if (this.more) return undefined;
    await starter.disrupt();
    this.pause = setTimeout(() => this.pauseEnded(), gapMs);
    this.pause.unref();
    return undefined;
  }

  private pauseEnded(): void {
    this.pause = undefined;
    if (this.more) this.signal();
  }
}
