import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { searchAttributes } from '../../../workflows/messages.js';
import { ActivityTask } from './activity-task.js';
import type { ActivityWorker } from './activity-worker.js';
import { keep, renew } from './backup.js';
import type { KeptRun } from './backup.js';
import { carryOut, startTimer, reportTerminated } from './commands.js';
import type { CommandHost } from './commands.js';
import type { EngineOptions, StartOptions } from './engine-options.js';
import { toPayloads } from './payloads.js';
import { PendingUpdates } from './pending-updates.js';
import { Pollers } from './pollers.js';
import { Run } from './run.js';
import type { BilledAction, RunStart, RunStatus } from './run.js';
import type { Command, Job } from './sandbox.js';
import { WorkflowCache } from './workflow-cache.js';
import { WorkflowTasks } from './workflow-tasks.js';
import { timestampOf } from './durations.js';

const metadataTypes = {
  TEXT: 'Text',
  KEYWORD: 'Keyword',
  INT: 'Int',
  DOUBLE: 'Double',
  BOOL: 'Bool',
  DATETIME: 'Datetime',
  KEYWORD_LIST: 'KeywordList',
};

function fieldsOf(attributes: ReadonlyMap<string, unknown>): Record<string, Payload> {
  const fields = Object.values(searchAttributes).flatMap(({ name, type }) => {
    const value = attributes.get(name);
    if (value === undefined || value === null) return [];
    const payload = defaultPayloadConverter.toPayload(value);
    return [[name, { ...payload, metadata: { ...payload.metadata, type: Buffer.from(metadataTypes[type]) } }] as const];
  });
  return Object.fromEntries(fields);
}

/**
 * A Temporal server and the SDK's core in memory, at the time of the process' (faked) timers: workflows, signals, updates,
 * queries, timers, activities at least once, children, cancellation, continue-as-new. Workflow code is the real one, on the
 * SDK's runtime (sandbox.ts). A worker that dies loses all that it had cached: runs are replayed, and replays are compared.
 */
export class SimulatedTemporal implements CommandHost {
  /** The latest run of each workflow id. */
  private readonly latest = new Map<string, Run>();
  private readonly activities = new Map<Run, Map<number, ActivityTask>>();
  /** All runs, where closed ones are kept. */
  private readonly kept: Run[] = [];
  readonly pollers: Pollers;
  private runs = 0;
  private readonly updates = new PendingUpdates();
  private readonly cache: WorkflowCache;
  private readonly tasks: WorkflowTasks;
  /** Replays that came to other commands, and workflow tasks that failed. */
  readonly problems: string[] = [];
  /** Hears of each run that failed. */
  onFailed: (workflowId: string, why: string) => void = () => undefined;
  /** Hears of each attempt of an activity that failed, and why. */
  onAttemptFailed: (what: string) => void = () => undefined;
  private happened = 0;

  constructor(readonly options: EngineOptions) {
    this.pollers = new Pollers(options.random);
    this.cache = new WorkflowCache(options.sandboxes, (problem) => this.problems.push(problem));
    this.tasks = new WorkflowTasks(this, { pollers: this.pollers, cache: this.cache, problems: this.problems });
  }

  /** How much has happened: it changes for as long as anything goes on. */
  get activity(): number {
    if (this.tasks.areUnderWay) this.happened += 1;
    return this.happened;
  }

  latencyMs(): number {
    return this.options.faults.latencyMs();
  }

  /** A process polls from now on. */
  connect(worker: ActivityWorker): void {
    this.pollers.add(worker);
  }

  /** A process stops polling and loses its cached workflows: it died, or its network failed. Default: every process. */
  disconnect(which?: ActivityWorker): void {
    for (const worker of which === undefined ? this.pollers.all : [which]) {
      if (!this.pollers.remove(worker)) continue;
      for (const run of this.latest.values()) if (run.cachedBy === worker) void this.cache.forget(run);
      for (const tasks of this.activities.values()) for (const task of tasks.values()) task.workerDied(worker);
    }
  }

  find(workflowId: string, runId?: string): Run | undefined {
    const run = this.latest.get(workflowId);
    if (run === undefined || !runId || run.start.runId === runId) return run;
    return this.kept.find(({ id, start }) => id === workflowId && start.runId === runId);
  }

  get all(): Iterable<Run> {
    return this.latest.values();
  }

  /** Every run that there was, where closed ones are kept. */
  get history(): readonly Run[] {
    return this.kept;
  }

  /** The activities that a run waits for. */
  pendingActivities = (run: Run): readonly ActivityTask[] => [...(this.activities.get(run)?.values() ?? [])];

  /** A first run. The caller has seen to it that none is open. */
  start(type: string, { workflowId, taskQueue, args, typedSearchAttributes = [] }: StartOptions): Run {
    const attributes = new Map(typedSearchAttributes.map(({ key, value }) => [key.name, value]));
    return this.begin({ workflowId, workflowType: type, taskQueue, args: toPayloads(args), attributes });
  }

  begin(start: Pick<RunStart, 'workflowId' | 'workflowType' | 'taskQueue' | 'args'> & Partial<RunStart>): Run {
    const runId = this.nextRunId();
    const run = new Run({
      firstRunId: runId,
      continuedFrom: undefined,
      parent: undefined,
      parentSeq: undefined,
      whenParentCloses: 'abandon',
      attributes: new Map(),
      ...start,
      runId,
      originalRunId: runId,
      startedAt: Date.now(),
      seed: this.options.random.int(0, 2 ** 31),
    });
    this.latest.set(run.id, run);
    if (this.options.keepsClosed === true) this.kept.push(run);
    this.note(run, 'started');
    this.bill('start', run);
    this.add(run, {
      initializeWorkflow: {
        startTime: timestampOf(Date.now()),
        workflowType: start.workflowType,
        workflowId: run.id,
        arguments: [...start.args],
        attempt: 1,
        firstExecutionRunId: run.start.firstRunId,
        searchAttributes: { indexedFields: fieldsOf(run.start.attributes) },
      },
    });
    return run;
  }

  signal(run: Run, signalName: string, args: readonly unknown[]): void {
    this.deliver(run, { signalWorkflow: { signalName, input: toPayloads(args) } });
  }

  deliver(run: Run, job: Job): void {
    this.bill('signal', run, job.signalWorkflow?.signalName ?? '');
    if (run.isOpen) run.signals.push(job);
    this.add(run, job);
  }

  requestCancel(run: Run): void {
    this.add(run, { cancelWorkflow: { reason: '' } });
  }

  terminate(run: Run): void {
    this.close(run, 'TERMINATED');
    reportTerminated(this, run);
  }

  /** The database is gone: nothing is left of any workflow. Schedules are kept. */
  lose(): void {
    for (const run of this.latest.values()) {
      run.underway.clear();
      this.close(run, 'TERMINATED');
    }
    this.latest.clear();
  }

  /** Keeps all workflows as they are. What is returned brings them back, and nothing of what came since: a restored database. */
  backup(): () => void {
    const closed = [...this.latest.values()].filter(({ isOpen }) => !isOpen);
    const open = [...this.latest.values()].filter(({ isOpen }) => isOpen).map((run) => this.stateOf(run));
    return () => {
      this.lose();
      for (const run of closed) this.latest.set(run.id, run);
      const renewed = new Map(open.map((kept) => [kept.run, renew(kept)]));
      for (const run of renewed.values()) {
        this.latest.set(run.id, run);
        for (const [seq, child] of run.children) run.children.set(seq, renewed.get(child) ?? child);
      }
      for (const kept of open) this.resume(renewed.get(kept.run)!, kept);
    };
  }

  /** Keeps an open run as it is. What is returned resets it to that, unless it has closed; it is sent again the signals that came since. */
  checkpoint(run: Run): () => void {
    const kept = this.stateOf(run);
    return () => {
      if (!run.isOpen || this.latest.get(run.id) !== run) return;
      run.underway.clear();
      this.close(run, 'TERMINATED');
      const reset = renew(kept, this.nextRunId());
      this.latest.set(run.id, reset);
      this.resume(reset, kept);
      for (const signal of run.signals.slice(kept.signals)) this.deliver(reset, signal);
    };
  }

  private stateOf(run: Run): KeptRun {
    return keep(run, this.pendingActivities(run));
  }

  private nextRunId(): string {
    return `run-${String(++this.runs).padStart(6, '0')}`;
  }

  /** Begins again what a run was waiting for. */
  private resume(run: Run, { timers, activities, underway }: KeptRun): void {
    this.note(run, 'is as it was');
    for (const [seq, dueAt] of timers) startTimer(this, run, seq, dueAt);
    for (const { command, scheduledAt, isCancelled } of activities) {
      const task = this.schedule(run, command, scheduledAt);
      if (isCancelled) task.cancel();
    }
    for (const command of underway) carryOut(this, run, command);
    if (run.jobs.length > 0) this.tasks.wake(run);
  }

  /** Something has happened to a run: its next workflow task has it. */
  add(run: Run, job: Job): void {
    if (!run.isOpen) return;
    run.jobs.push(job);
    run.historyLength += 1;
    if (run.historyLength === this.options.mostEvents) this.problems.push(`${run.id} has ${run.historyLength} events`);
    this.tasks.wake(run);
  }

  /** Starts an activity that a run has scheduled. */
  schedule(run: Run, command: NonNullable<Command['scheduleActivity']>, scheduledAt = Date.now()): ActivityTask {
    const seq = command.seq ?? 0;
    const tasks = this.activities.get(run) ?? new Map<number, ActivityTask>();
    this.activities.set(run, tasks);
    const { faults } = this.options;
    const task = new ActivityTask(
      {
        worker: (taskQueue) => this.pollers.on(taskQueue),
        whenPolled: (taskQueue, then) => this.pollers.whenPolled(taskQueue, then),
        latencyMs: () => faults.latencyMs(),
        fateOf: (type, workflowId) => faults.fateOf(type, workflowId),
        bill: (action, type) => this.bill(action, run, type),
        noteFailure: (type, attempt, why) => {
          this.say(run, `attempt ${attempt} of ${type} failed: ${why}`);
          this.onAttemptFailed(`${type} of ${run.id} failed: ${why}`);
        },
        resolve: (result) => {
          tasks.delete(seq);
          this.happened += 1;
          run.historyLength += 1;
          this.add(run, { resolveActivity: { seq, result } });
        },
      },
      command,
      run.start,
      scheduledAt,
    );
    tasks.set(seq, task);
    run.historyLength += 1;
    return task;
  }

  cancelActivity(run: Run, seq: number): void {
    this.activities.get(run)?.get(seq)?.cancel();
  }

  /** Has a run handle an update, and gives what its handler answers. */
  update(run: Run, name: string, args: readonly unknown[]): Promise<unknown> {
    this.bill('update', run, name);
    return this.updates.send(run, name, args, (job) => this.add(run, job));
  }

  answered(response: NonNullable<Command['updateResponse']>): void {
    this.updates.answered(response);
  }

  /** Asks a run that a worker has, or can replay, by a query job; its answer is what the command says. */
  ask(run: Run, job: Job): Promise<readonly Command[]> {
    this.bill('query', run, job.queryWorkflow?.queryType ?? '');
    return this.tasks.ask(run, job);
  }

  close(run: Run, status: RunStatus): void {
    if (!run.isOpen) return;
    run.status = status;
    run.closedAt = Date.now();
    for (const { handle } of run.timers.values()) clearTimeout(handle);
    for (const task of this.pendingActivities(run)) task.abandon();
    this.activities.delete(run);
    void this.cache.forget(run);
    if (this.options.keepsClosed !== true) run.turns.length = 0;
    run.jobs.length = 0;
    this.updates.refuse(run);
    this.note(run, status.toLowerCase());
    if (status === 'FAILED') this.onFailed(run.id, run.failure?.message ?? '');
    if (status !== 'CONTINUED_AS_NEW') this.closeChildren(run);
  }

  /** Lets go of all that is cached. */
  async stop(): Promise<void> {
    this.pollers.clear();
    await Promise.all([...this.latest.values()].map((run) => this.cache.forget(run)));
  }

  bill(action: BilledAction, run: Run, name?: string): void {
    this.options.onAction?.(action, run.start.workflowType, name);
  }

  noteTask(): void {
    this.happened += 1;
  }

  note(run: Run, what: string): void {
    this.happened += 1;
    this.say(run, what);
  }

  private say(run: Run, what: string): void {
    this.options.onEvent?.(`${run.id} (${run.start.runId}) ${what}`);
  }

  private closeChildren(run: Run): void {
    for (const child of run.children.values()) {
      if (!child.isOpen) continue;
      if (child.start.whenParentCloses === 'terminate') this.close(child, 'TERMINATED');
      if (child.start.whenParentCloses === 'cancel') this.requestCancel(child);
    }
  }

  /** Replays a run from its start as after a reset, under another run id; what differs is among the `problems`. */
  async replay(run: Run): Promise<void> {
    await this.cache.replay(run);
  }
}
