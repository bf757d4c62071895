import type { Job } from './packing-jobs.js';

/**
 * What is waited for most comes first: pods without a node, then moves that are about to begin and people's questions, then the search
 * for others, and last what people merely look at.
 */
const urgency: Readonly<Record<Job, number>> = {
  plan: 0,
  reconsider: 1,
  waitingRooms: 1,
  whyStays: 1,
  consolidate: 2,
  leastPossible: 3,
};

/** A job as the queue sees it. */
export interface Queued {
  readonly job: Job;
  /** Milliseconds of any clock that does not go back. */
  readonly since: number;
  /** Who asks: whoever asks again for the same wants the first no more. */
  readonly asker?: string | undefined;
}

/** Jobs for one packing thread that have not begun: the most urgent kind first, and of a kind the oldest. */
export class PackingQueue<Q extends Queued> {
  private waiting: readonly Q[] = [];

  /** The waiting jobs in the order in which they begin. */
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

  /** Says whether it was there. */
  remove(entry: Q): boolean {
    const before = this.waiting.length;
    this.waiting = this.waiting.filter((other) => other !== entry);
    return this.waiting.length < before;
  }

  /** Waiting jobs of the same asker for the same. */
  of({ job, asker }: Pick<Queued, 'job' | 'asker'>): readonly Q[] {
    return asker === undefined ? [] : this.waiting.filter((other) => other.job === job && other.asker === asker);
  }

  /** How many jobs begin before a new one of this kind. */
  before(job: Job): number {
    return this.waiting.filter((other) => urgency[other.job] <= urgency[job]).length;
  }
}
