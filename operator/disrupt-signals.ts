import type { Log } from '../core/telemetry.js';
import type { Starter } from './starter.js';
import { WorkQueue } from './work-queue.js';

/** One event changes many objects, such as the end of a node: they are signalled together. */
const settleMs = 1000;
/**
 * Minimum time between signals. During a series of changes each signal costs a workflow task, and its search result is
 * outdated when it ends (Karpenter searches every ten seconds).
 */
const gapMs = 5000;

/**
 * Signals `disrupt` that something changed, for all parts of the operator: retried until it succeeds, and sent at most
 * once in `gapMs`. Changes in between are signalled after that time.
 */
export class DisruptSignals {
  private readonly queue: WorkQueue;
  private pause: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: { readonly starter: Pick<Starter, 'disrupt'>; readonly log: Log }) {
    this.queue = new WorkQueue('signalling disrupt', () => this.send(starter), log, 1);
  }

  signal(): void {
    this.more = true;
    if (this.pause === undefined) this.sendAfter(settleMs);
  }

  stop(): void {
    clearTimeout(this.pause);
    this.queue.stop();
  }

  private async send(starter: Pick<Starter, 'disrupt'>): Promise<undefined> {
    this.more = false;
    await starter.disrupt();
    this.sendAfter(gapMs);
    return undefined;
  }

  private sendAfter(pauseMs: number): void {
    this.pause = setTimeout(() => {
      if (this.more) this.queue.add('cluster');
      else this.pause = undefined;
    }, pauseMs);
    this.pause.unref();
  }
}
