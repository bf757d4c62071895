import type { Worker } from 'node:worker_threads';
import { messageOf } from '../core/error-message.js';
import type { Log, Metrics } from '../core/telemetry.js';
import { type AnswerPart, Assembly } from './answers.js';
import type { Job, JobInput, JobResult } from './packing-jobs.js';
import { SnapshotSender } from './snapshots.js';
import { counted } from '../core/text.js';

/**
 * The most urgent first: pods without a node, then validations of commands and questions of users, then the search for
 * commands, and last reports.
 */
const urgency: Readonly<Record<Job, number>> = {
  plan: 0,
  reconsider: 1,
  waitingRooms: 1,
  whyStays: 1,
  consolidate: 2,
  leastPossible: 3,
};

/** A job in the queue. */
interface Queued {
  readonly job: Job;
  /** Milliseconds of a monotonic clock. */
  readonly since: number;
  /** The caller: a repeated request replaces its earlier one. */
  readonly asker?: string | undefined;
}

/** Waiting jobs of one packing thread: the most urgent kind first, and within a kind the oldest. */
class PackingQueue<Q extends Queued> {
  private waiting: readonly Q[] = [];

  /** The waiting jobs in execution order. */
  get all(): readonly Q[] {
    return this.waiting;
  }

  add(entry: Q): void {
    const at = this.waiting.findIndex(({ job }) => urgency[job] > urgency[entry.job]);
    this.waiting = at < 0 ? [...this.waiting, entry] : this.waiting.toSpliced(at, 0, entry);
  }

  take(): Q | undefined {
    const [first, ...rest] = this.waiting;
    this.waiting = rest;
    return first;
  }

  /** Returns whether it was in the queue. */
  remove(entry: Q): boolean {
    const before = this.waiting.length;
    this.waiting = this.waiting.filter((other) => other !== entry);
    return this.waiting.length < before;
  }

  /** Waiting jobs of this kind and caller. */
  of({ job, asker }: Pick<Queued, 'job' | 'asker'>): readonly Q[] {
    return asker === undefined ? [] : this.waiting.filter((other) => other.job === job && other.asker === asker);
  }

  /** How many jobs run before a new one of this kind. */
  before(job: Job): number {
    return this.waiting.filter((other) => urgency[other.job] <= urgency[job]).length;
  }
}

type Answer = { readonly id: number; readonly part: AnswerPart } | { readonly id: number; readonly error: string };

/** The used part of a `worker_threads` worker. */
type PackingWorker = Pick<Worker, 'postMessage' | 'terminate' | 'ref' | 'unref'> & {
  on(event: 'message', listener: (message: Answer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
};

export interface JobThreadOptions {
  /** Starts a thread. Jobs with a number below the value in `over` have to end early with what they have. */
  readonly spawn: (over: Int32Array) => PackingWorker;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** A search that runs longer ends with what it has. */
  readonly searchMs: number;
  /** If an abandoned job has not ended after this time, its thread is terminated. */
  readonly graceMs: number;
}

/** The caller of a job and its callbacks. */
export interface Asking {
  /** A repeated request with the same key replaces the earlier one. */
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly note?: (progress: string) => void;
  readonly onBegin?: () => void;
}

interface Entry extends Queued {
  readonly input: JobInput<Job>;
  readonly asking: Asking;
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

interface Running {
  readonly worker: PackingWorker;
  readonly sender: SnapshotSender;
  readonly over: Int32Array;
}

interface Current {
  readonly entry: Entry;
  readonly id: number;
  readonly began: number;
  readonly assembly: Assembly;
  /** Set once it has been sent. */
  answer?: { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };
  /** Whether the caller no longer waits. */
  isAbandoned: boolean;
}

/** A waiting or running job. */
export interface JobView {
  readonly job: Job;
  readonly state: 'waiting' | 'running';
  /** Milliseconds since it was requested; once it runs, since it started. */
  readonly ageMs: number;
}

/**
 * One packing thread and its queue of jobs. The thread gets one job at a time, so that waiting jobs can still be
 * reordered or dropped. A job whose caller has gone is dropped, or ended early if it runs. If the thread dies, its job
 * fails, which the activity retries, and the thread is restarted for the next job.
 */
export class JobThread {
  private readonly queue = new PackingQueue<Entry>();
  private running: Running | undefined;
  private current: Current | undefined;
  private serial = 0;
  private isClosed = false;

  constructor(private readonly options: JobThreadOptions) {}

  get load(): number {
    return this.queue.all.length + (this.current === undefined ? 0 : 1);
  }

  get jobs(): readonly JobView[] {
    const now = this.options.now();
    const { current } = this;
    const waiting = this.queue.all.map(({ job, since }) => ({ job, state: 'waiting' as const, ageMs: now - since }));
    if (current === undefined) return waiting;
    return [{ job: current.entry.job, state: 'running', ageMs: now - current.began }, ...waiting];
  }

  /** Rejects with the signal's reason when the caller has gone. */
  run<J extends Job>(job: J, input: JobInput<J>, asking: Asking = {}): Promise<JobResult<J>> {
    return new Promise<JobResult<J>>((resolve, reject) => {
      const { signal, key: asker } = asking;
      if (signal?.aborted === true) {
        reject(reasonOf(signal));
        return;
      }
      const gone = (): void => this.abandon(entry, reasonOf(signal!));
      const settled = (): void => signal?.removeEventListener('abort', gone);
      const entry: Entry = {
        job,
        input,
        asking,
        asker,
        since: this.options.now(),
        resolve: (result) => {
          settled();
          resolve(result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      signal?.addEventListener('abort', gone, { once: true });
      this.supersede(entry);
      this.postPlace(entry);
      this.queue.add(entry);
      this.pump();
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.running?.worker.terminate();
    for (const entry of this.queue.all) entry.reject(new Error('the packing threads are closed'));
  }

  /** Abandons an earlier attempt whose end this process has not noticed. */
  private supersede(entry: Entry): void {
    const { current } = this;
    const isSame = entry.asker !== undefined && current?.entry.asker === entry.asker && current.entry.job === entry.job;
    for (const older of [...this.queue.of(entry), ...(isSame ? [current.entry] : [])]) {
      this.abandon(older, new Error('a later attempt asked for the same'));
    }
  }

  private postPlace({ job, asking }: Entry): void {
    const before = this.queue.before(job) + (this.current === undefined ? 0 : 1);
    if (before > 0) asking.note?.(`packing queue: ${counted(before, 'job')} before this one`);
  }

  private abandon(entry: Entry, why: Error): void {
    const { current, running } = this;
    entry.reject(why);
    this.options.metrics.count('stowage_packing_jobs_abandoned_total', { job: entry.job });
    if (this.queue.remove(entry) || current?.entry !== entry || current.isAbandoned) return;
    current.isAbandoned = true;
    if (running === undefined || current.answer === undefined) return;
    endSoon(running, current.id);
    this.endLate(current, running);
  }

  /** Terminates the thread of a job that does not check whether it should end. */
  private endLate(current: Current, { worker }: Running): void {
    const late = setTimeout(() => {
      if (this.current !== current) return;
      this.options.log.warn(
        { job: current.entry.job },
        'a packing thread is restarted: its job was abandoned and did not end',
      );
      void worker.terminate();
    }, this.options.graceMs);
    late.unref();
  }

  private pump(): void {
    if (this.current !== undefined || this.isClosed) return;
    const entry = this.queue.take();
    if (entry === undefined) return;
    const current: Current = {
      entry,
      id: this.serial++,
      began: this.options.now(),
      assembly: new Assembly(),
      isAbandoned: false,
    };
    this.current = current;
    void this.work(current).then((settle) => {
      this.current = undefined;
      settle();
      this.pump();
    });
  }

  /** Runs the job; returns a function that reports to the caller. */
  private async work(current: Current): Promise<() => void> {
    const { entry, began } = current;
    const { metrics, now } = this.options;
    const { job, asking } = entry;
    try {
      metrics.observe('stowage_packing_job_wait_seconds', { job }, (began - entry.since) / 1000);
      asking.note?.(`${job} on a packing thread`);
      asking.onBegin?.();
      const result = (await this.sendAndWait(current)) as never;
      return () => entry.resolve(result);
    } catch (error) {
      return () => entry.reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      metrics.observe('stowage_packing_job_duration_seconds', { job }, (now() - began) / 1000);
    }
  }

  private async sendAndWait(current: Current): Promise<unknown> {
    const running = (this.running ??= this.start());
    const { worker, sender } = running;
    const snapshot = await sender.send(current.entry.input).catch(async (error: unknown) => {
      // It is unknown what the thread received: the next job starts a new thread without state.
      await worker.terminate();
      throw error;
    });
    if (this.running !== running) throw new Error('the packing thread ended while it was sent a job');
    if (current.isAbandoned) return undefined;
    const { job } = current.entry;
    const enough = setTimeout(() => job === 'consolidate' && endSoon(running, current.id), this.options.searchMs);
    enough.unref();
    // Keeps the process alive while a caller waits.
    worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        current.answer = { resolve, reject };
        worker.postMessage({ kind: 'job', id: current.id, job, snapshot });
      });
    } finally {
      clearTimeout(enough);
      worker.unref();
    }
  }

  private start(): Running {
    const over = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = this.options.spawn(over);
    const sender = new SnapshotSender((message) => worker.postMessage(message), turn);
    const running = { worker, sender, over };
    worker.on('message', (message) => this.take(running, message));
    worker.on('error', (error) => {
      this.options.log.error({ error: messageOf(error) }, 'a packing thread died');
      this.lost(running, error instanceof Error ? error : new Error(String(error)));
    });
    worker.on('exit', (code) => this.lost(running, new Error(`the packing thread ended with ${code}`)));
    worker.unref();
    return running;
  }

  private take(running: Running, message: Answer): void {
    const { current } = this;
    if (this.running !== running || current?.id !== message.id) return;
    if ('error' in message) {
      current.answer?.reject(new Error(message.error));
      return;
    }
    try {
      const taken = current.assembly.take(current.entry.job, message.part);
      if (taken !== undefined) current.answer?.resolve(taken.result);
      else setImmediate(() => running.worker.postMessage({ kind: 'next', id: message.id }));
    } catch (error) {
      // Thrown here, it would leave this job and all later ones unsettled.
      current.answer?.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private lost(running: Running, error: Error): void {
    if (this.running !== running) return;
    this.running = undefined;
    this.current?.answer?.reject(error);
  }
}

function endSoon({ over }: Running, id: number): void {
  Atomics.store(over, 0, id + 1);
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('the job was abandoned');
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
