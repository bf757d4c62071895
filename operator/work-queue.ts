import { messageOf } from '../core/error-message.js';
import { backOffMs } from '../core/back-off.js';
import type { Log } from '../core/telemetry.js';

const backOff = { firstMs: 500, longestMs: 30_000 };

/** When to reconcile a key again without a change, milliseconds. */
export interface Requeue {
  readonly afterMs: number;
}

/**
 * Keys to reconcile: one at a time for each key, several keys concurrently, failures retried with back-off. A key added
 * several times while it waits is reconciled once. A failure is logged once until the key succeeds.
 */
export class WorkQueue {
  private readonly waiting = new Set<string>();
  private readonly active = new Set<string>();
  private readonly timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly at: number }>();
  private readonly failures = new Map<string, number>();
  private stopped = false;

  constructor(
    private readonly name: string,
    private readonly reconcile: (key: string) => Promise<Requeue | undefined>,
    private readonly log: Log,
    private readonly concurrency = 10,
  ) {}

  add(key: string): void {
    if (this.stopped) return;
    this.waiting.add(key);
    this.pump();
  }

  /** Reconciles the key after this time at the latest: adding it again does not delay it. */
  addAfter(key: string, afterMs: number): void {
    if (this.stopped) return;
    const at = performance.now() + afterMs;
    const earlier = this.timers.get(key);
    if (earlier !== undefined && earlier.at <= at) return;
    clearTimeout(earlier?.timer);
    const timer = setTimeout(() => {
      this.timers.delete(key);
      this.add(key);
    }, afterMs);
    timer.unref();
    this.timers.set(key, { timer, at });
  }

  stop(): void {
    this.stopped = true;
    this.waiting.clear();
    for (const { timer } of this.timers.values()) clearTimeout(timer);
  }

  private pump(): void {
    for (const key of this.waiting) {
      if (this.active.size >= this.concurrency) return;
      if (this.active.has(key)) continue;
      this.waiting.delete(key);
      this.active.add(key);
      void this.run(key);
    }
  }

  private async run(key: string): Promise<void> {
    try {
      const again = await this.reconcile(key);
      if (this.failures.delete(key)) this.log.info({ key }, `${this.name} works again`);
      if (again !== undefined) this.addAfter(key, again.afterMs);
    } catch (error) {
      const failures = this.failures.get(key) ?? 0;
      this.failures.set(key, failures + 1);
      if (failures === 0 && !this.stopped) {
        this.log.warn({ key, error: messageOf(error) }, `${this.name} failed, trying again`);
      }
      this.addAfter(key, backOffMs(failures + 1, backOff));
    } finally {
      this.active.delete(key);
      this.pump();
    }
  }
}
