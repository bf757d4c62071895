import { messageOf } from '../../core/error-message.js';
import type { Log } from '../../core/telemetry.js';
import type { LimiterClock } from '../../kube/limiter.js';
import type { Deployment } from './deployment.js';

/** A worker asks anew after a minute at the latest: one that has not for two is gone. */
const goneMs = 120_000;
const pollMs = 60_000;
const promoteMs = 1000;
const drainPollMs = 2000;

export interface RolloutOptions {
  readonly deployment: Deployment;
  /** Undefined where workers of this process have no version. */
  readonly buildId: string | undefined;
  readonly log: Log;
  /** `now` is that of the wall. */
  readonly clock: LimiterClock;
}

/**
 * What a process of workers does so that an upgrade needs nobody: the build that comes up last is current; one that is told to end while
 * another is current ends once the workflows that are pinned to it have, or hands them over; and what is pinned to a build without
 * workers goes on in the current one (settings/worker-versions).
 */
export class Rollout {
  private promoted = false;

  constructor(private readonly options: RolloutOptions) {}

  /** What is still to be done before other builds may end, for a person. */
  get waitsFor(): string | undefined {
    return this.promoted ? undefined : 'its build is not current yet';
  }

  /** Makes the build of this process current, as soon as it polls every queue; then looks after builds without workers until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    await this.promote(signal);
    // Where workers have no version there is nothing to look after.
    while (!isOver(signal) && this.options.buildId !== undefined) {
      await this.unpinAbandoned().catch((error: unknown) => this.warn(error, 'cannot look after older builds'));
      await this.wait(pollMs, signal);
    }
  }

  /**
   * Resolves when nothing is pinned to this build any more, or `withinMs` is over: what is left then goes on in the current build. At once
   * where this build is current itself: other processes of it go on, or it is stopped altogether.
   */
  async drained(withinMs: number): Promise<void> {
    const { buildId, clock, log } = this.options;
    if (buildId === undefined || !this.promoted) return;
    const until = clock.now() + withinMs;
    try {
      if (!(await this.isSuperseded(buildId))) return;
      log.info({ build: buildId }, 'another build is current: workflows that are pinned to this one end first');
      // Twice: lists of workflows lag behind for a moment.
      for (let empty = 0; empty < 2 && clock.now() < until;) {
        empty = (await this.options.deployment.pinned(buildId)) === 0 ? empty + 1 : 0;
        await clock.sleep(drainPollMs);
      }
      await this.unpin(buildId);
    } catch (error) {
      this.warn(error, 'ending without a look at what is pinned to this build');
    }
  }

  private async promote(signal: AbortSignal): Promise<void> {
    const { buildId, log } = this.options;
    let told = false;
    while (!isOver(signal) && !this.promoted) {
      try {
        await this.makeCurrent(buildId);
        this.promoted = true;
      } catch (error) {
        if (!told)
          log.info({ build: buildId, error: messageOf(error) }, 'the build cannot be made current yet, retrying');
        told = true;
        await this.wait(promoteMs, signal);
      }
    }
  }

  private async makeCurrent(buildId: string | undefined): Promise<void> {
    const { deployment, log } = this.options;
    const state = await deployment.state();
    if (state === 'unsupported') return;
    if (state === undefined && buildId !== undefined) throw new Error('Temporal does not know of its workers yet');
    if (state === undefined || state.current === buildId) return;
    await deployment.makeCurrent(buildId);
    if (buildId === undefined) await this.unpinAll([...state.draining, state.current ?? '']);
    log.info({ build: buildId ?? 'without a version', before: state.current }, 'workflows begin on this build now');
  }

  private async isSuperseded(buildId: string): Promise<boolean> {
    const state = await this.options.deployment.state();
    return state !== undefined && state !== 'unsupported' && state.current !== buildId;
  }

  private async unpinAbandoned(): Promise<void> {
    const { deployment, clock } = this.options;
    const state = await deployment.state();
    if (state === undefined || state === 'unsupported') return;
    for (const build of state.draining) {
      const polledAt = await deployment.polledAt(build);
      if (polledAt === undefined || clock.now() - polledAt > goneMs) await this.unpin(build);
    }
  }

  /** Workers without a version look after no builds: all goes on with them at once. */
  private async unpinAll(builds: readonly string[]): Promise<void> {
    for (const build of builds) await this.unpin(build);
  }

  private async unpin(build: string): Promise<void> {
    const moved = await this.options.deployment.unpin(build);
    if (moved > 0)
      this.options.log.info({ build, workflows: moved }, 'workflows of a build that ends go on in the current one');
  }

  private warn(error: unknown, what: string): void {
    this.options.log.warn({ error: messageOf(error) }, what);
  }

  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    await this.options.clock.sleep(ms, signal).catch(() => undefined);
  }
}

/** Asked anew after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
