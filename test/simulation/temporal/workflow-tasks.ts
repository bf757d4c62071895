import type { ActivityWorker } from './activity-worker.js';
import { carryOut, type CommandHost } from './commands.js';
import { digestOf } from './digest.js';
import type { EngineOptions } from './engine-options.js';
import type { Pollers } from './pollers.js';
import type { Run } from './run.js';
import type { Activation, Command, Job } from './sandbox.js';
import type { WorkflowCache } from './workflow-cache.js';

/** After this long a workflow task that failed is tried again. */
const taskRetryMs = 10_000;
/** After this long the server gives a workflow task of a worker that died to another. */
const stickyMs = 5000;

/** The server that the tasks are of. */
interface TaskHost extends CommandHost {
  readonly options: Pick<EngineOptions, 'keepsClosed' | 'cachesNothing'>;
  /** A workflow task is taken. */
  noteTask(): void;
}

/** Workflow tasks: what has happened to a run, taken by a worker that polls, and the commands that its code answers with. */
export class WorkflowTasks {
  /** Workflow tasks and queries that code is at. */
  private atWork = 0;

  constructor(
    private readonly host: TaskHost,
    private readonly at: { readonly pollers: Pollers; readonly cache: WorkflowCache; readonly problems: string[] },
  ) {}

  get areUnderWay(): boolean {
    return this.atWork > 0;
  }

  /** Asks a run that a worker has, or can replay, by a query job; its answer is what the command says. */
  async ask(run: Run, job: Job): Promise<readonly Command[]> {
    return this.working(run, async () => {
      const worker = this.workerFor(run);
      const sandbox = await this.at.cache.of(run, worker, () => this.at.pollers.has(worker));
      const activation = { at: Date.now(), jobs: [job], historyLength: run.historyLength, flags: run.flags };
      const answer = await sandbox.activate(activation, false);
      if ('failed' in answer) throw new Error(answer.failed);
      return answer.commands;
    });
  }

  /** Has the run's next workflow task taken soon. */
  wake(run: Run): void {
    if (run.hasTask || !run.isOpen) return;
    run.hasTask = true;
    this.taskAfter(run, this.host.latencyMs());
  }

  private taskAfter(run: Run, milliseconds: number): void {
    const take = (): void => void this.working(run, () => this.task(run));
    setTimeout(() => this.at.pollers.whenPolled(run.start.taskQueue, take), milliseconds);
  }

  private async working<T>(run: Run, work: () => Promise<T>): Promise<T> {
    this.atWork += 1;
    return run.alone(work).finally(() => (this.atWork -= 1));
  }

  /** One workflow task: what has happened since the last, to the code, and its commands back. */
  private async task(run: Run): Promise<void> {
    const worker = this.workerFor(run);
    if (!run.isOpen || worker === undefined) {
      run.hasTask = false;
      if (run.isOpen) this.wake(run);
      return;
    }
    this.host.noteTask();
    const jobs = inOrder(run.jobs.splice(0));
    run.taskJobs = jobs;
    run.historyLength += 2;
    const activation: Activation = { at: Date.now(), jobs, historyLength: run.historyLength, flags: run.flags };
    const sandbox = await this.at.cache.of(run, worker, () => this.at.pollers.has(worker));
    const answer = await sandbox.activate(activation, false);
    if (isClosed(run)) return;
    if (!worker.isAlive || !this.at.pollers.has(worker)) {
      this.again(run, jobs, stickyMs);
      return;
    }
    if ('failed' in answer) {
      this.at.problems.push(`${run.id}: workflow task failed: ${answer.failed}`);
      this.again(run, jobs, taskRetryMs);
      return;
    }
    // As the server answers a worker that closes a run which something has happened to meanwhile: look at that first.
    if (run.jobs.length > 0 && answer.commands.some(isClosing)) {
      this.again(run, jobs, 0);
      return;
    }
    run.flags = [...new Set([...run.flags, ...answer.flags])];
    const replayed = { ...activation, jobs: [...patchesIn(answer.commands), ...jobs], flags: run.flags };
    run.turns.push({ activation: replayed, digest: digestOf(answer.commands) });
    run.hasTask = false;
    run.taskJobs = [];
    run.historyLength += 1;
    if (this.host.options.keepsClosed === true) run.commands.push(...answer.commands);
    for (const command of answer.commands) carryOut(this.host, run, command);
    if (this.host.options.cachesNothing === true) await this.at.cache.forget(run);
    if (run.jobs.length > 0) this.wake(run);
  }

  /** The task is not answered: the same again, from a replay. */
  private again(run: Run, jobs: readonly Job[], afterMs: number): void {
    run.jobs.unshift(...jobs);
    run.taskJobs = [];
    void this.at.cache.forget(run);
    this.taskAfter(run, afterMs);
  }

  /** The worker that has the run cached, otherwise any that polls its task queue. */
  private workerFor(run: Run): ActivityWorker | undefined {
    const { cachedBy } = run;
    return cachedBy !== undefined && this.at.pollers.has(cachedBy) ? cachedBy : this.at.pollers.on(run.start.taskQueue);
  }
}

/** Asked anew: it may have been terminated during any wait. */
const isClosed = (run: Run): boolean => !run.isOpen;

const isClosing = (command: Command): boolean =>
  Boolean(
    command.completeWorkflowExecution ??
    command.failWorkflowExecution ??
    command.cancelWorkflowExecution ??
    command.continueAsNewWorkflowExecution,
  );

/** A replay gets, before each task, the patches that its run took in it. */
function patchesIn(commands: readonly Command[]): Job[] {
  return commands.flatMap(({ setPatchMarker }) =>
    setPatchMarker ? [{ notifyHasPatch: { patchId: setPatchMarker.patchId } }] : [],
  );
}

/** As core hands them over: the start, then signals and updates, then everything else. */
function inOrder(jobs: readonly Job[]): Job[] {
  const rank = (job: Job): number => (job.initializeWorkflow ? 0 : (job.signalWorkflow ?? job.doUpdate) ? 1 : 2);
  return [...jobs].sort((a, b) => rank(a) - rank(b));
}
