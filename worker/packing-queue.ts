import type { Job } from './packing-jobs.js';

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
export interface Queued {
  readonly job: Job;
  /** Milliseconds of a monotonic clock. */
  readonly since: number;
  /** The caller: a repeated request replaces its earlier one. */
  readonly asker?: string | undefined;
}

/** Waiting jobs of one packing thread: the most urgent kind first, and within a kind the oldest. */
export class PackingQueue<Q extends Queued> {
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
