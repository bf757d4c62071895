import { messageOf } from '../../core/error-message.js';
import type { Log } from '../../core/telemetry.js';
import type { LimiterClock } from '../../kube/limiter.js';
import { workflowDigest } from '../../worker/bundle.js';
import { buildInfo } from '../gauges/build-info.js';
import type { Settings } from '../settings.js';
import type { CurrentBuild, Deployment } from './deployment.js';

/** Workers poll again after at most a minute: a build without a poll for two minutes has no workers. */
const goneMs = 120_000;
/**
 * A formerly current build becomes current again only after running for this long, which excludes a crashing container,
 * or a restart in the middle of an upgrade.
 */
const steadyMs = 60_000;
const pollMs = 15_000;
const waitingPollMs = 1000;

/**
 * The build id of this process's workers: the version of the image, and the digest of its workflow code, which
 * distinguishes images of one version. Undefined if workers are not versioned, by the settings or because the server
 * does not support it, which is logged.
 */
export async function buildIdFor(
  settings: Pick<Settings, 'WORKER_VERSIONING' | 'WORKER_BUILD_ID'>,
  deployment: Pick<Deployment, 'activated'>,
  log: Pick<Log, 'warn'>,
): Promise<string | undefined> {
  if (!settings.WORKER_VERSIONING) return undefined;
  if ((await deployment.activated()) === 'unsupported') {
    log.warn({}, 'Temporal has no worker versioning here (it is on from 1.28): workers have no version');
    return undefined;
  }
  return settings.WORKER_BUILD_ID ?? `${buildInfo().version}-${await workflowDigest()}`;
}

interface RolloutOptions {
  readonly deployment: Deployment;
  /** Undefined if this process's workers have no version. */
  readonly buildId: string | undefined;
  readonly log: Log;
  readonly clock: LimiterClock;
}

/**
 * Keeps the current build up to date, so that an upgrade needs no manual step and a build without workers is current
 * for minutes at most: the build that starts last becomes current, and if the current one has no workers any more, a
 * running one replaces it (settings/worker-versions).
 */
export class Rollout {
  private wasCurrent = false;
  private withoutWorkers: string | undefined;
  private startedAt = 0;
  /** Whether the build was never current before; read once. */
  private isNew: boolean | undefined;
  private seen: CurrentBuild & { readonly at: number };

  constructor(private readonly options: RolloutOptions) {
    this.seen = { at: options.clock.now() };
  }

  /** Why the build of this process is not usable yet, as text for people. */
  get waitsFor(): string | undefined {
    return this.withoutWorkers ?? (this.wasCurrent ? undefined : 'its build is not current yet');
  }

  /** Updates the current build until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { buildId, clock, log } = this.options;
    this.startedAt = clock.now();
    let failed: string | undefined;
    while (!isOver(signal)) {
      try {
        await this.look();
        failed = undefined;
      } catch (error) {
        if (failed === undefined)
          log.info({ build: buildId, error: messageOf(error) }, 'the build cannot be made current yet, retrying');
        failed = messageOf(error);
      }
      await clock.sleep(this.waitsFor === undefined ? pollMs : waitingPollMs, signal).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    const { deployment, buildId, log } = this.options;
    const found = await deployment.current();
    this.withoutWorkers = undefined;
    if (found.current === buildId) {
      this.wasCurrent = true;
      return;
    }
    const isGone = this.isGone(found);
    if (!isGone && !(await this.comesUp())) return;
    const before = found.current ?? 'without a version';
    if (isGone) this.withoutWorkers = `the current build (${before}) has no worker, and this one is not current yet`;
    await deployment.makeCurrent(buildId, isGone);
    this.withoutWorkers = undefined;
    this.wasCurrent = true;
    log.info({ build: buildId ?? 'without a version', before, isGone }, 'workflows go on in this build now');
  }

  /** By the local clock: what counts is whether the server's time of the last poll still changes. */
  private isGone({ current, polledAt }: CurrentBuild): boolean {
    const now = this.options.clock.now();
    if (current !== this.seen.current || polledAt !== this.seen.polledAt) this.seen = { current, polledAt, at: now };
    return now - this.seen.at >= goneMs;
  }

  private async comesUp(): Promise<boolean> {
    if (this.wasCurrent) return false;
    const { buildId, clock, deployment } = this.options;
    if (buildId === undefined || clock.now() - this.startedAt >= steadyMs) return true;
    this.isNew ??= !(await deployment.activated()).includes(buildId);
    return this.isNew;
  }
}

/** A function call, so that the value is read again after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
