import type { TestWorkflowEnvironment } from '@temporalio/testing';

type TestService = NonNullable<TestWorkflowEnvironment['connection']['testService']>;

const lookEveryMs = 2000;
/** Longer than a crowded machine takes from one step of a workflow to the next. */
const stalledMs = 10_000;

/**
 * The server skips time while nothing is in flight, and counts what is. It loses count where a task is handed out again or
 * ends with its workflow, and stands still from then on. Whoever waits for time to be skipped sees that by this clock:
 * where nothing is in flight and the server's time goes on no faster than a wall clock's, one count is taken off.
 */
export class Clock {
  private waiting = 0;
  private looking: Promise<void> | undefined;
  private wake: (() => void) | undefined;
  private isStopped = false;
  private readonly service: TestService;

  /** @param isAtRest whether no task of any workflow is in flight, on either side */
  constructor(
    private readonly env: TestWorkflowEnvironment,
    private readonly isAtRest: () => Promise<boolean>,
  ) {
    const service = env.connection.testService;
    if (service === undefined) throw new Error('a server that skips time has a test service');
    this.service = service;
  }

  /** Lets time be skipped until the promise is settled, as the one who made it asked of the server. */
  async skipping<T>(result: Promise<T>): Promise<T> {
    this.waiting++;
    if (!this.isStopped) this.looking ??= this.look().finally(() => (this.looking = undefined));
    try {
      return await result;
    } finally {
      this.waiting--;
    }
  }

  /** Looks no more: the client throws where nobody catches it when the server goes away amid a call. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.wake?.();
    await this.looking;
  }

  private async look(): Promise<void> {
    let since = Date.now();
    let lead = await this.lead();
    while (this.waiting > 0 && !this.isStopped) {
      await this.pause();
      const now = await this.lead();
      const isStill = now !== undefined && lead !== undefined && Math.abs(now - lead) < lookEveryMs / 2;
      lead = now;
      if (!isStill || !(await this.isAtRest().catch(() => false))) since = Date.now();
      if (Date.now() - since < stalledMs || this.waiting === 0) continue;
      // Refused where the count is right: then nothing is due.
      await this.service.unlockTimeSkipping({}).catch(() => undefined);
      since = Date.now();
    }
  }

  private async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookEveryMs).unref();
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** By how much the server is ahead of the wall, milliseconds; undefined where it does not answer. */
  private async lead(): Promise<number | undefined> {
    return this.env.currentTimeMs().then(
      (time) => time - Date.now(),
      () => undefined,
    );
  }
}
