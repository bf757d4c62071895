import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { currentAttempt } from '../activities/attempt.js';
import type { Packer, PackingOptions } from '../activities/deps.js';
import type { Log, Metrics } from '../core/telemetry.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { LeastPossible } from '../packing/least-possible.js';
import type { PackingInput, Plan } from '../packing/types.js';
import { JobThread, type Asking, type JobView } from './job-thread.js';
import { jobs } from './packing-jobs.js';

/** Well below the timeout of `disrupt` for one evaluation. */
const searchMs = 3 * 60_000;
const graceMs = 5_000;

/**
 * Packs in worker threads, so that heartbeats and watches of this process continue meanwhile. Without threads, or if
 * the thread's program does not exist (running from TypeScript), packs in this thread. Consolidation has a separate
 * thread, so that a search over a large cluster delays no pending pod; in it, validations of commands precede the
 * search for new ones. Jobs of an activity attempt are dropped when the attempt ends. Each thread starts with its first
 * job.
 */
export class PackingPool implements Packer {
  private readonly threads: JobThread[] = [];
  private searching: JobThread | undefined;

  constructor(size: number, log: Log, metrics: Metrics) {
    const program = new URL('./packing-thread.js', import.meta.url);
    if (size > 0 && !existsSync(fileURLToPath(program))) {
      log.debug({}, 'packing in place: the program of the packing threads is not built');
      return;
    }
    const spawn = (over: Int32Array): Worker => new Worker(program, { workerData: { over } });
    const thread = (): JobThread =>
      new JobThread({ spawn, log, metrics, now: () => performance.now(), searchMs, graceMs });
    for (let i = 0; i < size; i++) this.threads.push(thread());
    if (size > 0) this.searching = thread();
  }

  /** Waiting and running jobs. */
  get jobs(): readonly JobView[] {
    return this.all.flatMap((thread) => thread.jobs);
  }

  async plan(input: PackingInput): Promise<Plan> {
    return this.idlest?.run('plan', input, asking()) ?? jobs.plan(input);
  }

  /** Of the planning threads; undefined if packing runs in this thread. */
  private get idlest(): JobThread | undefined {
    const [first, ...others] = this.threads;
    return first && others.reduce((best, thread) => (thread.load < best.load ? thread : best), first);
  }

  async consolidate(input: ConsolidationInput, options: PackingOptions = {}): Promise<Consolidation> {
    if (this.searching !== undefined) return this.searching.run('consolidate', input, { ...asking(), ...options });
    options.onBegin?.();
    return jobs.consolidate(input);
  }

  async reconsider(
    input: ConsolidationInput,
    candidates: readonly string[],
  ): Promise<ConsolidationCommand | undefined> {
    const both = { ...input, candidates };
    return this.searching === undefined ? jobs.reconsider(both) : this.searching.run('reconsider', both, asking());
  }

  async whyStays(input: ConsolidationInput, node: string): Promise<string | undefined> {
    const both = { ...input, node };
    return this.searching === undefined ? jobs.whyStays(both) : this.searching.run('whyStays', both, asking());
  }

  async waitingRooms(input: PackingInput): Promise<Plan['existingNodes']> {
    return this.idlest?.run('waitingRooms', input, asking()) ?? jobs.waitingRooms(input);
  }

  async leastPossible(input: PackingInput): Promise<LeastPossible> {
    return this.searching === undefined
      ? jobs.leastPossible(input)
      : this.searching.run('leastPossible', input, asking());
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((thread) => thread.close()));
  }

  private get all(): readonly JobThread[] {
    return this.searching === undefined ? this.threads : [...this.threads, this.searching];
  }
}

function asking(): Asking {
  return currentAttempt() ?? {};
}
