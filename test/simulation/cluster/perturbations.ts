/** What a process does to the world, and what it hears of it, counted over all of its incarnations. */
export interface Traffic {
  readonly writes: number;
  readonly events: number;
}

/**
 * One thing that goes wrong at one place of a run that is known:
 * - `crash before` and `crash after`: the process dies at its `at`-th write, before or after its effect;
 * - `stale`: from the `at`-th event of a watch on, what is cached is old for some minutes;
 * - `unseen`: likewise, and the process dies before it sees any of what came meanwhile.
 */
export interface Perturbation {
  readonly kind: 'crash before' | 'crash after' | 'stale' | 'unseen';
  readonly at: number;
}

export interface Perturbed {
  readonly crash: () => void;
  /** Holds every watch for some minutes, and has something done just before it lets go. */
  readonly holdWatches: (last: () => void) => void;
}

/** Counts writes and events of watches, and does what is planned at one of them. */
export class PlacedPerturbation {
  private writes = 0;
  private events = 0;

  constructor(
    private readonly planned: Perturbation | undefined,
    private readonly perturbed: Perturbed,
  ) {}

  get traffic(): Traffic {
    return { writes: this.writes, events: this.events };
  }

  /** Before a write takes effect. */
  onWrite(): void {
    this.writes += 1;
    if (this.isDue('crash before', this.writes)) this.perturbed.crash();
  }

  /** After it has, before its answer. */
  onWritten(): void {
    if (this.isDue('crash after', this.writes)) this.perturbed.crash();
  }

  onEvent(): void {
    this.events += 1;
    const isUnseen = this.isDue('unseen', this.events);
    if (!isUnseen && !this.isDue('stale', this.events)) return;
    this.perturbed.holdWatches(() => {
      if (isUnseen) this.perturbed.crash();
    });
  }

  private isDue(kind: Perturbation['kind'], at: number): boolean {
    return this.planned?.kind === kind && this.planned.at === at;
  }
}

/** Every perturbation of a run with that traffic, of writes and events each the `every`-th. */
export function perturbationsOf({ writes, events }: Traffic, every: number): Perturbation[] {
  const places = (count: number): number[] =>
    Array.from({ length: Math.floor(count / every) }, (_, i) => (i + 1) * every);
  const of = (kind: Perturbation['kind'], count: number): Perturbation[] => places(count).map((at) => ({ kind, at }));
  return [...of('crash before', writes), ...of('crash after', writes), ...of('stale', events), ...of('unseen', events)];
}
