import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** While more and more changes, each signal costs a workflow task, and the search that it asks for is out of date when it ends (Karpenter looks every ten seconds). */
const gapMs = 5000;

/**
 * Signals `disrupt` that something changed: tried again until it succeeds, and sent at most once in `gapMs`. Changes in between are
 * signalled when that time is over.
 */
export class DisruptSignals {
  private readonly queue: WorkQueue;
  private pause: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: Pick<OperatorContext, 'starter' | 'log'>, what: string) {
    this.queue = new WorkQueue(`signalling disrupt: ${what}`, () => this.send(starter), log, 1);
  }

  signal(): void {
    if (this.pause === undefined) this.queue.add('cluster');
    else this.more = true;
  }

  stop(): void {
    clearTimeout(this.pause);
    this.queue.stop();
  }

  private async send(starter: OperatorContext['starter']): Promise<undefined> {
    // A change that came while the signal was sent.
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
