import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Log, Packer } from '../activities/deps.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { PackingInput, Plan } from '../packing/types.js';
import { jobs } from './packing-jobs.js';
import type { Job, JobInput, JobResult } from './packing-jobs.js';

type Answer = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Packs in worker threads, so that heartbeats and watches of this process go on meanwhile. Without threads, or where the
 * thread's program is not there (running from TypeScript), it packs in place. A thread that dies fails what it
 * worked on, which the activity tries again, and is started anew. Consolidation has a thread of its own, so that a search
 * over a large cluster holds up no pending pod; threads start with their first job.
 */
export class PackingPool implements Packer {
  private readonly threads: Thread[] = [];
  private searching: Thread | undefined;
  private next = 0;

  constructor(size: number, log: Log) {
    const program = new URL('./packing-thread.js', import.meta.url);
    if (size > 0 && !existsSync(fileURLToPath(program))) {
      log.debug({}, 'packing in place: the program of the packing threads is not built');
      return;
    }
    for (let i = 0; i < size; i++) this.threads.push(new Thread(program, log));
    if (size > 0) this.searching = new Thread(program, log);
  }

  async plan(input: PackingInput): Promise<Plan> {
    if (this.threads.length === 0) return jobs.plan(input);
    const thread = this.threads[this.next++ % this.threads.length]!;
    return thread.run('plan', input);
  }

  async consolidate(input: ConsolidationInput): Promise<Consolidation> {
    return this.searching === undefined ? jobs.consolidate(input) : this.searching.run('consolidate', input);
  }

  async reconsider(
    input: ConsolidationInput,
    candidates: readonly string[],
  ): Promise<ConsolidationCommand | undefined> {
    const both = { input, candidates };
    return this.searching === undefined ? jobs.reconsider(both) : this.searching.run('reconsider', both);
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.threads, ...(this.searching === undefined ? [] : [this.searching])].map((thread) => thread.close()),
    );
  }
}

class Thread {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private serial = 0;

  constructor(
    private readonly program: URL,
    private readonly log: Log,
  ) {}

  async run<J extends Job>(job: J, input: JobInput<J>): Promise<JobResult<J>> {
    this.worker ??= this.start();
    const { worker } = this;
    const id = this.serial++;
    return new Promise<JobResult<J>>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      worker.postMessage({ id, job, input });
    });
  }

  async close(): Promise<void> {
    await this.worker?.terminate();
  }

  private start(): Worker {
    const worker = new Worker(this.program);
    worker.on('message', (answer: Answer) => {
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.result as never);
    });
    const lost = (error: Error): void => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    };
    worker.on('error', (error) => {
      this.log.error({ error: String(error) }, 'a packing thread died');
      lost(error instanceof Error ? error : new Error(String(error)));
    });
    worker.on('exit', (code) => lost(new Error(`the packing thread ended with ${code}`)));
    worker.unref();
    return worker;
  }
}
