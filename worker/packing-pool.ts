import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Log, Packer } from '../activities/deps.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { PackingInput, Plan } from '../packing/types.js';
import { Assembly, type Part } from './answers.js';
import { jobs } from './packing-jobs.js';
import type { Job, JobInput, JobResult } from './packing-jobs.js';
import { SnapshotSender } from './snapshots.js';
import type { Duty } from './warm-up.js';

type Answer = { readonly id: number; readonly part: Part } | { readonly id: number; readonly error: string };
type Message = Answer | { readonly kind: 'warm' };

interface Waiting {
  readonly job: Job;
  readonly assembly: Assembly;
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Packs in worker threads, so that heartbeats and watches of this process go on meanwhile. Without threads, or where the
 * thread's program is not there (running from TypeScript), it packs in place. A thread that dies fails what it
 * worked on, which the activity tries again, and is started anew. Consolidation has a thread of its own, so that a search
 * over a large cluster holds up no pending pod. All start at once and warm up, those that plan before the other.
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
    if (size === 0) return;
    const searching = (this.searching = new Thread(program, log));
    void Promise.all(this.threads.map((thread) => thread.warmUp('plan'))).then(() => searching.warmUp('consolidate'));
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
    const both = { ...input, candidates };
    return this.searching === undefined ? jobs.reconsider(both) : this.searching.run('reconsider', both);
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.threads, ...(this.searching === undefined ? [] : [this.searching])].map((thread) => thread.close()),
    );
  }
}

class Thread {
  private running: { readonly worker: Worker; readonly sender: SnapshotSender } | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private serial = 0;
  private warmed: (() => void) | undefined;
  private isClosed = false;
  /** Settles when the snapshot of the job before has been sent: they go one after the other. */
  private sending: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly program: URL,
    private readonly log: Log,
  ) {}

  async run<J extends Job>(job: J, input: JobInput<J>): Promise<JobResult<J>> {
    const before = this.sending;
    const sent = before.then(async () => this.post(job, input));
    this.sending = sent.catch(() => undefined);
    return (await sent).answer;
  }

  /** Has the thread solve something small until its code is compiled, between jobs; settles then, or never if the thread ends. */
  async warmUp(duty: Duty): Promise<void> {
    if (this.isClosed) return;
    this.running ??= this.start();
    this.running.worker.postMessage({ kind: 'warmUp', duty });
    return new Promise((resolve) => (this.warmed = resolve));
  }

  /** Sends the job; its answer comes in an object, so that nobody waits for it here. */
  private async post<J extends Job>(job: J, input: JobInput<J>): Promise<{ answer: Promise<JobResult<J>> }> {
    const { worker, sender } = (this.running ??= this.start());
    const snapshot = await sender.send(input).catch(async (error: unknown) => {
      // What arrived is not known: the next job finds a thread that knows nothing.
      await worker.terminate();
      throw error;
    });
    if (!this.isRunning(worker)) throw new Error('the packing thread ended while it was sent a job');
    const id = this.serial++;
    const answer = new Promise<JobResult<J>>((resolve, reject) => {
      this.waiting.set(id, { job, assembly: new Assembly(), resolve, reject });
      // The process lives as long as somebody waits.
      worker.ref();
      worker.postMessage({ kind: 'job', id, job, snapshot });
    });
    return { answer };
  }

  private isRunning(worker: Worker): boolean {
    return this.running?.worker === worker;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.running?.worker.terminate();
  }

  private start(): { worker: Worker; sender: SnapshotSender } {
    const worker = new Worker(this.program);
    const sender = new SnapshotSender((message) => worker.postMessage(message), turn);
    worker.on('message', (answer: Message) => {
      if ('kind' in answer) {
        this.warmed?.();
        return;
      }
      const waiting = this.waiting.get(answer.id);
      const taken = 'part' in answer ? waiting?.assembly.take(waiting.job, answer.part) : undefined;
      if ('part' in answer && taken === undefined) {
        setImmediate(() => worker.postMessage({ kind: 'next', id: answer.id }));
        return;
      }
      this.waiting.delete(answer.id);
      if (this.waiting.size === 0) worker.unref();
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(taken!.result as never);
    });
    const lost = (error: Error): void => {
      if (!this.isRunning(worker)) return;
      this.running = undefined;
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    };
    worker.on('error', (error) => {
      this.log.error({ error: String(error) }, 'a packing thread died');
      lost(error instanceof Error ? error : new Error(String(error)));
    });
    worker.on('exit', (code) => lost(new Error(`the packing thread ended with ${code}`)));
    worker.unref();
    return { worker, sender };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
