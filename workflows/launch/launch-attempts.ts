import { ActivityFailure, ApplicationFailure, condition, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { CancellationScope } from '@temporalio/workflow';
import type { LaunchInstanceResult } from '../../activities/launch/contract.js';
import { backOffMs } from '../../core/back-off.js';
import { failures } from '../../core/failures.js';
import { launchTimeoutMs } from '../../core/launch-timeouts.js';
import type { Activities } from '../calls/proxies.js';
import { heartbeatTimeout } from '../calls/proxies.js';
import type { LaunchNodeInput } from '../messages.js';
import type { Progress } from '../progress.js';

const minutes = 60_000;
const backOff = { firstMs: 1000, longestMs: 1 * minutes };
const longestAttemptMs = 2 * minutes;
const leastAttemptMs = 1000;

type Attempt = LaunchInstanceResult | 'stopped';

interface AttemptDeps {
  readonly activities: Activities;
  readonly progress: Progress;
  /**
   * Cancelled when the launch has to stop. An attempt under way runs to its end, since it may have created an instance.
   */
  readonly scope: CancellationScope;
  readonly stopped: () => boolean;
}

/** The attempts to create an instance for a NodeClaim. */
export class LaunchAttempts {
  constructor(
    private readonly input: LaunchNodeInput,
    private readonly deps: AttemptDeps,
  ) {}

  /**
   * Attempts the launch until it succeeds, is refused permanently, or the launch timeout is used up. The timeout counts
   * the attempts and the pauses between them, but not the time in which there was no worker or the API server or EC2
   * did not answer (launch/timeouts). `mayHaveInstance`: an earlier launch of the NodeClaim may have created one.
   */
  async untilOutcome(mayHaveInstance: boolean): Promise<Attempt> {
    const allowedMs = this.input.launchTimeoutMs ?? launchTimeoutMs;
    let spentMs = 0;
    for (let attempt = 1; ; attempt++) {
      this.deps.progress.enter('launching', { waitingFor: 'an instance', facts: { attempt } });
      const result = await this.attempt(attempt === 1 && !mayHaveInstance, allowedMs - spentMs);
      if (result === 'stopped' || result.state !== 'failed') return result;
      this.deps.progress.addFacts({ 'last failure': result.message });
      if (result.isUnavailable !== true) spentMs += result.tookMs;
      const pauseMs = Math.min(backOffMs(attempt, backOff), allowedMs - spentMs);
      if (pauseMs <= 0) return result;
      await condition(this.deps.stopped, pauseMs, { summary: 'the next attempt' });
      if (this.deps.stopped()) return 'stopped';
      if (result.isUnavailable !== true) spentMs += pauseMs;
      if (spentMs >= allowedMs) return result;
    }
  }

  /** One attempt, at most `restMs` long. It counts as failed if its worker dies or hangs. */
  private async attempt(isFirst: boolean, restMs: number): Promise<Attempt> {
    const { claim, nodePool } = this.input;
    const startToCloseTimeout = Math.min(longestAttemptMs, Math.max(leastAttemptMs, restMs));
    const options = {
      summary: `CreateFleet for ${claim.name} (${nodePool})`,
      startToCloseTimeout,
      retry: { maximumAttempts: 1 },
    };
    try {
      return await this.deps.scope.run(() =>
        this.deps.activities.cloud.launchInstance.executeWithOptions(options, [{ claim, isFirst }]),
      );
    } catch (error) {
      if (isCancellation(error)) {
        if (this.deps.stopped()) return 'stopped';
        throw error;
      }
      if (!(error instanceof ActivityFailure)) throw error;
      const isUnavailable = error.cause instanceof ApplicationFailure && error.cause.type === failures.unavailable.type;
      return {
        state: 'failed',
        message: lastMessage(error),
        tookMs: tookMs(error, startToCloseTimeout),
        isUnavailable,
      };
    }
  }
}

/** How long an attempt took that timed out, as far as is known. */
function tookMs({ cause }: ActivityFailure, longestMs: number): number {
  if (!(cause instanceof TimeoutFailure)) return 0;
  return cause.timeoutType === 'HEARTBEAT' ? Math.min(heartbeatTimeout, longestMs) : longestMs;
}

/** The error of the last attempt, for the event. The timeout failure itself says nothing useful. */
function lastMessage(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const inner = cause?.cause ?? cause;
  return inner instanceof Error ? inner.message : 'launching took too long';
}
