import type { temporal } from '@temporalio/proto';
import type { ActivityWorker } from './activity-worker.js';
import type { Activation, Command, Job, RunIdentity, Sandbox } from './sandbox.js';

export type Payload = temporal.api.common.v1.IPayload;
export type Failure = temporal.api.failure.v1.IFailure;

/** What Temporal Cloud bills as an action. A child has its own besides the start. */
export type BilledAction =
  | 'start'
  | 'child'
  | 'signal'
  | 'update'
  | 'query'
  | 'timer'
  | 'activity attempt'
  | 'heartbeat'
  | 'search attributes'
  | 'memo'
  | 'patch marker';

export type RunStatus = 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TERMINATED' | 'CONTINUED_AS_NEW';

/** A workflow task as it was answered, for replays. */
interface Turn {
  readonly activation: Activation;
  /** The commands that the code gave, in a form that can be compared. */
  readonly digest: string;
}

export interface RunStart extends RunIdentity {
  readonly args: readonly Payload[];
  /** The parent's number for this child. */
  readonly parentSeq: number | undefined;
  /** What the parent's close does to it. */
  readonly whenParentCloses: 'abandon' | 'terminate' | 'cancel';
}

interface RunTimer {
  readonly handle: NodeJS.Timeout;
  /** Milliseconds of the epoch. */
  readonly dueAt: number;
}

/** One run of a workflow, as the server keeps it. */
export class Run {
  status: RunStatus = 'RUNNING';
  closedAt: number | undefined;
  result: Payload | undefined;
  failure: Failure | undefined;
  /** About as many events as a real history has. */
  historyLength = 1;
  /** What has happened since the last workflow task. */
  jobs: Job[] = [];
  /** Those of the workflow task that a worker has and has not answered: the server has them still. */
  taskJobs: readonly Job[] = [];
  /** A workflow task waits for a worker or is with one. */
  hasTask = false;
  readonly turns: Turn[] = [];
  /** All that its code has asked for, where runs are kept. */
  readonly commands: Command[] = [];
  /** What a worker has cached. */
  sandbox: Sandbox | undefined;
  /** And which. */
  cachedBy: ActivityWorker | undefined;
  readonly timers = new Map<number, RunTimer>();
  /** Every signal that it was sent. */
  readonly signals: Job[] = [];
  /** What its code has asked for and is on its way to others. */
  readonly underway = new Set<Command>();
  readonly attributes: Map<string, unknown>;
  readonly memo: Record<string, unknown> = {};
  readonly children = new Map<number, Run>();
  /** The SDK's switches that its code has used. */
  flags: number[] = [];

  private last: Promise<unknown> = Promise.resolve();

  /** One for all who ask. */
  readonly startTime: Date;

  constructor(readonly start: RunStart) {
    this.startTime = new Date(start.startedAt);
    this.attributes = new Map(start.attributes);
  }

  /** Does `work` once everything before it is done: a worker has one task of a run in its hands at a time. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const next = this.last.then(work);
    this.last = next.catch(() => undefined);
    return next;
  }

  get id(): string {
    return this.start.workflowId;
  }

  get isOpen(): boolean {
    return this.status === 'RUNNING';
  }
}
