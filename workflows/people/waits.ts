import { condition } from '@temporalio/workflow';

/** What ended a wait. */
export type WaitEnd = 'elapsed' | 'met' | 'expedited' | 'retried';

/** The wait of a workflow that orders can end. */
export class Waits {
  /** The condition that ends the current wait. */
  private waitedFor: (() => boolean) | undefined;
  private current: { readonly retryable: boolean; end: WaitEnd | undefined } | undefined;

  /** Whether the workflow waits for something that `expedite` ends. */
  get isExpeditable(): boolean {
    return this.current !== undefined;
  }

  get isRetryable(): boolean {
    return this.current?.retryable === true;
  }

  /** Ends the current wait, if there is one. */
  end(how: WaitEnd): void {
    if (this.current !== undefined) this.current.end = how;
  }

  /** A durable wait that `end` cuts short, and that ends when `until` holds. */
  async wait(
    ms: number,
    options: { readonly summary: string; readonly until: () => boolean; readonly retryable: boolean },
  ): Promise<WaitEnd> {
    const waiting: NonNullable<Waits['current']> = { retryable: options.retryable, end: undefined };
    this.current = waiting;
    const over = (): boolean => waiting.end !== undefined || options.until();
    const inTime = await this.until(over, Math.max(1, ms), options.summary);
    if (this.current === waiting) this.current = undefined;
    return waiting.end ?? (inTime ? 'met' : 'elapsed');
  }

  /** Waits for the condition, at most for `ms`; returns whether it holds. */
  async until(over: () => boolean, ms?: number, summary = ''): Promise<boolean> {
    this.waitedFor = over;
    try {
      if (ms !== undefined) return await condition(over, ms, { summary });
      await condition(over);
      return true;
    } finally {
      this.waitedFor = undefined;
    }
  }

  /** Carries out an order. If that ends the current wait, it returns true, after the workflow has continued. */
  async endedBy(act: () => unknown): Promise<boolean> {
    act();
    const over = this.waitedFor;
    const isOver = over?.() === true;
    if (isOver) await condition(() => this.waitedFor !== over);
    return isOver;
  }
}
