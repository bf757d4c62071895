import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** `disrupt` waits a second for more before it looks: telling it more often gives it signals and no news. */
const gapMs = 1000;

/**
 * Tells `disrupt` that something changed: until it has been told, however often that fails, and once in `gapMs` at most
 * however much there is to tell. What comes in between is told when they are over.
 */
export class DisruptNews {
  private readonly queue: WorkQueue;
  private resting: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: Pick<OperatorContext, 'starter' | 'log'>, what: string) {
    this.queue = new WorkQueue(`telling disrupt of ${what}`, () => this.send(starter), log, 1);
  }

  tell(): void {
    if (this.resting === undefined) this.queue.add('cluster');
    else this.more = true;
  }

  stop(): void {
    clearTimeout(this.resting);
    this.queue.stop();
  }

  private async send(starter: OperatorContext['starter']): Promise<undefined> {
    // What came while it was being told.
    this.more = this.resting !== undefined;
    if (this.more) return undefined;
    await starter.disrupt();
    this.resting = setTimeout(() => this.rested(), gapMs);
    this.resting.unref();
    return undefined;
  }

  private rested(): void {
    this.resting = undefined;
    if (this.more) this.tell();
  }
}
