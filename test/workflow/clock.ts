import type { TestWorkflowEnvironment } from '@temporalio/testing';

type TestService = NonNullable<TestWorkflowEnvironment['connection']['testService']>;

const lookEveryMs = 2000;
/** Longer than a crowded machine takes from one step of a workflow to the next. */
const stalledMs = 10_000;
/** How long the first counts that are taken off are given to take effect, and those after them. */
const carefulMs = 3000;
const carefulCounts = 5;
const hastyMs = 200;

/**
 * The server skips time while nothing is in flight, and counts what is. It loses count where a task is handed out again or
 * ends with its workflow, and stops from then on. A test that waits for time to be skipped sees that by this clock:
 * where nothing is in flight and the server's time goes on no faster than a wall clock's, counts are taken off until it does.
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

  /** Stops polling: when the server ends during a call, the client throws an uncaught error. */
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
      await this.correct(lead);
      since = Date.now();
    }
  }

  /**
   * Takes counts off until time goes on: hundreds of children that end at once may each have left one. The server's timer runs
   * in another thread, so each count is given time to take effect: one too many lets the server skip over work in flight for
   * good, up to the time at which workflows time out.
   */
  private async correct(before: number | undefined): Promise<void> {
    if (before === undefined) return;
    for (let taken = 1; this.waiting > 0 && !this.isStopped; taken++) {
      try {
        await this.service.unlockTimeSkipping({});
      } catch {
        return; // The count is right: nothing is due.
      }
      if (await this.goesOn(before, taken <= carefulCounts ? carefulMs : hastyMs)) return;
    }
  }

  /** Whether the server's time goes on within `patienceMs`, or cannot be known. */
  private async goesOn(before: number, patienceMs: number): Promise<boolean> {
    for (const end = Date.now() + patienceMs; ;) {
      const lead = await this.lead();
      if (lead === undefined || lead - before >= lookEveryMs / 2) return true;
      if (Date.now() >= end) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
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
