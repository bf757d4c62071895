import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** `disrupt` waits a second for more before it looks: telling it more often gives it signals and no news. */
const gapMs = 1000;

/**
 * Tells `disrupt` that something changed: until it has been told, however often that fails, and once in `gapMs` at most
 * however much there is to tell. What comes in between is told when they are over.
 */
export class DisruptSignals {
  private readonly queue: WorkQueue;
  private pause: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: Pick<OperatorContext, 'starter' | 'log'>, what: string) {
    this.queue = new WorkQueue(`telling disrupt of ${what}`, () => this.send(starter), log, 1);
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
    // What came while it was being told.
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
