import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { coresdk, temporal } from '@temporalio/proto';
import type { ActivityWorker } from './activity-worker.js';
import { millisOf, timestampOf } from './durations.js';
import { fromPayloads, toFailure, toPayload } from './payloads.js';
import type { BilledAction, Failure } from './run.js';

type Schedule = coresdk.workflow_commands.IScheduleActivity;
type Resolution = coresdk.activity_result.IActivityResolution;

/** Failures are retried, and are not logged. */
const silent = new DefaultLogger('ERROR', () => undefined);
/** Enum values of the wire format. */
const tryCancel = 0;
const states = { SCHEDULED: 1, STARTED: 2 } as const;
const timeouts = { START_TO_CLOSE: 1, SCHEDULE_TO_CLOSE: 3, HEARTBEAT: 4 } as const;

/** What becomes of one attempt: nothing unusual, or what a crash or a network does to it. */
export type AttemptFate = 'runs' | 'lost before its effect' | 'lost after its effect';

/** What an activity needs of the server. */
export interface ActivityHost {
  /** A process that polls a queue now; undefined while none does. */
  worker(taskQueue: string): ActivityWorker | undefined;
  /** Runs `then` once a process polls the queue. */
  whenPolled(taskQueue: string, then: () => void): void;
  /** Milliseconds that a message takes now. */
  latencyMs(): number;
  fateOf(type: string, workflowId: string): AttemptFate;
  /** Notes an action of Temporal Cloud. */
  bill(action: BilledAction, activityType: string): void;
  /** Hears of each attempt that failed. */
  noteFailure(type: string, attempt: number, why: string): void;
  /** The activity is over, for the workflow. */
  resolve(resolution: Resolution): void;
}

interface Attempt {
  readonly worker: ActivityWorker;
  readonly environment: MockActivityEnvironment;
  readonly timer: NodeJS.Timeout;
}

/**
 * One activity of a run, attempt by attempt, as the server sees to it: retries with back-off, timeouts, cancellation. A
 * worker that dies is noticed after the heartbeat timeout.
 */
export class ActivityTask {
  private attempt = 0;
  private lastFailure: Failure | undefined;
  /** When the attempt that runs began, or else when the next one does, milliseconds of the epoch. */
  private at: number;
  private running: Attempt | undefined;
  private next: NodeJS.Timeout | undefined;
  private isOver = false;
  isCancelled = false;
  private readonly deadline: number;

  constructor(
    private readonly host: ActivityHost,
    readonly schedule: Schedule,
    private readonly owner: { readonly workflowId: string; readonly runId: string; readonly workflowType: string },
    /** Milliseconds of the epoch: before now for one of a server that was restored. */
    readonly scheduledAt: number,
  ) {
    this.at = scheduledAt;
    this.deadline = scheduledAt + (millisOf(schedule.scheduleToCloseTimeout) ?? Number.POSITIVE_INFINITY);
    this.tryAfter(host.latencyMs());
  }

  cancel(): void {
    if (this.isOver) return;
    this.isCancelled = true;
    if (this.running === undefined || (this.schedule.cancellationType ?? tryCancel) === tryCancel) this.endCancelled();
    this.running?.environment.cancel();
  }

  /** The run has closed: no workflow waits for the activity any more. */
  abandon(): void {
    this.isOver = true;
    clearTimeout(this.next);
    clearTimeout(this.running?.timer);
    this.running?.environment.cancel();
  }

  /** As the server describes it while it is pending. */
  described(): object {
    const { activityId, activityType } = this.schedule;
    const isStarted = this.running !== undefined;
    const attempt = isStarted ? this.attempt : this.attempt + 1;
    const times = isStarted ? { lastStartedTime: timestampOf(this.at) } : { scheduledTime: timestampOf(this.at) };
    const state = isStarted ? states.STARTED : states.SCHEDULED;
    return {
      ...{ activityId, activityType: { name: activityType }, attempt, state, ...times },
      ...(this.lastFailure === undefined ? {} : { lastFailure: this.lastFailure }),
    };
  }

  private tryAfter(milliseconds: number): void {
    this.at = Date.now() + milliseconds;
    this.next = setTimeout(() => this.host.whenPolled(this.schedule.taskQueue ?? '', () => this.start()), milliseconds);
  }

  private start(): void {
    const { activityType, taskQueue } = this.schedule;
    const worker = this.isOver ? undefined : this.host.worker(taskQueue ?? '');
    if (worker === undefined) return;
    this.attempt += 1;
    this.at = Date.now();
    const run = worker.activity(taskQueue ?? '', activityType ?? '');
    if (run === undefined) {
      this.failed(toFailure(new Error(`no worker serves ${activityType ?? ''} on ${taskQueue ?? ''}`)));
      return;
    }
    const environment = new MockActivityEnvironment(this.info(), { logger: silent });
    this.host.bill('activity attempt', activityType ?? '');
    const fate = this.host.fateOf(activityType ?? '', this.owner.workflowId);
    const limitMs = Math.min(
      millisOf(this.schedule.startToCloseTimeout) ?? Number.POSITIVE_INFINITY,
      this.deadline - Date.now(),
    );
    const heartbeatMs = millisOf(this.schedule.heartbeatTimeout) ?? limitMs;
    this.billHeartbeats(environment, heartbeatMs);
    const timer = setTimeout(() => this.timedOut(attempt, 'START_TO_CLOSE'), Math.min(limitMs, 2 ** 31 - 1));
    const attempt: Attempt = { worker, environment, timer };
    this.running = attempt;
    const lose = (): void => void setTimeout(() => this.timedOut(attempt, 'HEARTBEAT'), Math.min(heartbeatMs, limitMs));
    if (fate === 'lost before its effect') {
      lose();
      return;
    }
    const report = (then: () => void): void => {
      const reported = (): void => {
        if (fate === 'lost after its effect' || !worker.isAlive) lose();
        else if (this.running === attempt) then();
      };
      setTimeout(reported, this.host.latencyMs());
    };
    const [input] = fromPayloads(this.schedule.arguments);
    environment.run(run, input).then(
      (result) => report(() => this.completed(result)),
      (error: unknown) => report(() => this.threw(error)),
    );
  }

  /** As the SDK sends them: one at once, the next after four fifths of the timeout. */
  private billHeartbeats(environment: MockActivityEnvironment, timeoutMs: number): void {
    let nextAt = 0;
    environment.on('heartbeat', () => {
      if (Date.now() < nextAt) return;
      nextAt = Date.now() + 0.8 * timeoutMs;
      this.host.bill('heartbeat', this.schedule.activityType ?? '');
    });
  }

  /** The process that ran an attempt has died. */
  workerDied(worker: ActivityWorker): void {
    const attempt = this.running;
    if (attempt?.worker !== worker || this.isOver) return;
    const heartbeatMs = millisOf(this.schedule.heartbeatTimeout);
    if (heartbeatMs !== undefined) setTimeout(() => this.timedOut(attempt, 'HEARTBEAT'), heartbeatMs);
  }

  private completed(result: unknown): void {
    this.end({ completed: { result: toPayload(result) } });
  }

  private threw(error: unknown): void {
    if (this.isCancelled && (error instanceof CancelledFailure || (error as Error).name === 'AbortError')) {
      this.endCancelled();
      return;
    }
    const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
    const failure = toFailure(error);
    this.failed(failure, isFinal, millisOf(failure.applicationFailureInfo?.nextRetryDelay));
  }

  private timedOut(attempt: Attempt, type: keyof typeof timeouts): void {
    if (this.running !== attempt || this.isOver) return;
    attempt.environment.cancel();
    const timeoutFailureInfo = { timeoutType: timeouts[type] };
    this.failed({ message: `activity ${type} timeout`, source: 'Server', timeoutFailureInfo });
  }

  private failed(failure: Failure, isFinal = false, delayMs?: number): void {
    clearTimeout(this.running?.timer);
    this.running = undefined;
    this.lastFailure = failure;
    const { retryPolicy, activityType } = this.schedule;
    this.host.noteFailure(activityType ?? '', this.attempt, failure.message ?? '');
    const most = retryPolicy?.maximumAttempts ?? 0;
    const pauseMs = delayMs ?? pauseOf(retryPolicy, this.attempt);
    const isLast = isFinal || (most > 0 && this.attempt >= most) || Date.now() + pauseMs >= this.deadline;
    if (this.isCancelled) this.endCancelled();
    else if (isLast) this.end({ failed: { failure: this.wrapped('Activity task failed', failure) } });
    else this.tryAfter(pauseMs);
  }

  private endCancelled(): void {
    const failure = this.wrapped('Activity task cancelled', { message: 'Activity cancelled', canceledFailureInfo: {} });
    this.end({ cancelled: { failure } });
  }

  private end(resolution: Resolution): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.next);
    clearTimeout(this.running?.timer);
    this.host.resolve(resolution);
  }

  private wrapped(message: string, cause: Failure): Failure {
    const { activityId, activityType } = this.schedule;
    const activityFailureInfo = { activityId, activityType: { name: activityType }, identity: 'simulated' };
    return { message, source: 'TypeScriptSDK', cause, activityFailureInfo };
  }

  private info(): ConstructorParameters<typeof MockActivityEnvironment>[0] {
    const { activityId, activityType, taskQueue } = this.schedule;
    const { workflowId, runId, workflowType } = this.owner;
    return {
      attempt: this.attempt,
      activityId: activityId ?? '',
      activityType: activityType ?? '',
      taskQueue: taskQueue ?? '',
      workflowExecution: { workflowId, runId },
      workflowType,
    };
  }
}

function pauseOf(policy: temporal.api.common.v1.IRetryPolicy | null | undefined, attempt: number): number {
  const firstMs = millisOf(policy?.initialInterval) ?? 1000;
  const longestMs = millisOf(policy?.maximumInterval) ?? 100 * firstMs;
  return Math.min(firstMs * (policy?.backoffCoefficient ?? 2) ** (attempt - 1), longestMs);
}
