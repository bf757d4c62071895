import type { Random } from '../../cases/random.js';
import type { ActivityWorker } from './activity-worker.js';

/** The workers that poll now, and what waits for one. */
export class Pollers {
  private readonly workers: ActivityWorker[] = [];
  private readonly waiting: { readonly taskQueue: string; readonly then: () => void }[] = [];

  constructor(private readonly random: Random) {}

  get all(): readonly ActivityWorker[] {
    return [...this.workers];
  }

  add(worker: ActivityWorker): void {
    if (!this.workers.includes(worker)) this.workers.push(worker);
    for (const { taskQueue, then } of this.waiting.splice(0)) this.whenPolled(taskQueue, then);
  }

  /** Whether the worker was polling. */
  remove(worker: ActivityWorker): boolean {
    const at = this.workers.indexOf(worker);
    if (at < 0) return false;
    this.workers.splice(at, 1);
    return true;
  }

  clear(): void {
    this.workers.length = 0;
  }

  has(worker: ActivityWorker | undefined): boolean {
    return worker === undefined || this.workers.includes(worker);
  }

  /** A worker that polls the queue now; a random one of several. */
  on(taskQueue: string): ActivityWorker | undefined {
    const polling = this.workers.filter((worker) => worker.polls?.(taskQueue) ?? true);
    return polling.length > 1 ? this.random.pick(polling) : polling[0];
  }

  /** Without a draw. */
  isPolled(taskQueue: string): boolean {
    return this.workers.some((worker) => worker.polls?.(taskQueue) ?? true);
  }

  whenPolled(taskQueue: string, then: () => void): void {
    if (this.isPolled(taskQueue)) then();
    else this.waiting.push({ taskQueue, then });
  }
}
