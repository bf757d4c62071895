import type { ActivityWorker } from './activity-worker.js';
import { digestOf } from './digest.js';
import type { Run } from './run.js';
import type { Sandbox, SandboxFactory } from './sandbox.js';

/** What workers have cached of runs, and replays of what they have not. */
export class WorkflowCache {
  constructor(
    private readonly sandboxes: SandboxFactory,
    /** Hears of a replay that came to other commands than the run did. */
    private readonly onProblem: (problem: string) => void,
  ) {}

  /** What is cached of a run, or a replay of it, which is that worker's where `isAlive` says afterwards that the worker lives still. */
  async of(run: Run, worker: ActivityWorker | undefined, isAlive: () => boolean): Promise<Sandbox> {
    if (run.sandbox !== undefined) return run.sandbox;
    const sandbox = await this.replayed(run);
    if (!isAlive()) return sandbox;
    run.sandbox = sandbox;
    run.cachedBy = worker;
    return sandbox;
  }

  /** Replays a run from its start as after a reset, under another run id, and keeps nothing of it. */
  async replay(run: Run): Promise<void> {
    await (await this.replayed(run, `${run.start.runId}-reset`)).dispose();
  }

  async forget(run: Run): Promise<void> {
    const { sandbox } = run;
    run.sandbox = undefined;
    run.cachedBy = undefined;
    await sandbox?.dispose();
  }

  private async replayed(run: Run, runId = run.start.runId): Promise<Sandbox> {
    const sandbox = await this.sandboxes.create({ ...run.start, runId });
    for (const { activation, digest } of run.turns) {
      const answer = await sandbox.activate(activation, true);
      const replay = 'failed' in answer ? `failed: ${answer.failed}` : digestOf(answer.commands);
      if (replay === digest) continue;
      const jobs = activation.jobs.map((job) => JSON.stringify(job).slice(0, 200)).join(', ');
      this.onProblem(`${run.id}: a replay came to other commands: ${replay} instead of ${digest}, after ${jobs}`);
    }
    return sandbox;
  }
}
