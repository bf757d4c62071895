import type { Random } from '../../cases/random.js';
import { quiet } from './network.js';
import type { NetworkConditions } from './network.js';
import { SimulatedProcess } from './process.js';
import type { Outside } from './process.js';

export interface ProcessesOptions {
  readonly outside: Outside;
  readonly count: number;
  /** How the calls of one that comes up now go. */
  readonly conditions: () => NetworkConditions;
  /** Ends what has begun, after so long. */
  readonly later: (afterMs: number, end: () => void) => void;
}

/** All processes of Stowage, by their places: each that dies is followed by one in its place. */
export class Processes {
  private readonly places: SimulatedProcess[] = [];
  private incarnations = 0;

  constructor(private readonly options: ProcessesOptions) {}

  start(): void {
    for (let place = 0; place < this.options.count; place++) this.boot(place);
  }

  /** One of them dies now and comes up again after so long. */
  restart(random: Random, afterMs: number): void {
    const place = this.pick(random);
    this.places[place]?.kill();
    this.options.later(afterMs, () => this.boot(place));
  }

  /** One of them stops for so long, and then goes on where it was. */
  freeze(random: Random, forMs: number): void {
    const frozen = this.places[this.pick(random)];
    if (frozen?.isAlive !== true) return;
    frozen.freeze();
    this.options.later(forMs, () => frozen.thaw());
  }

  /** Temporal is within reach again. */
  reconnect(): void {
    for (const each of this.places) each.reconnect();
  }

  /** No call of theirs fails or is slow any more. */
  calm(): void {
    for (const { network } of this.places) network.conditions = quiet;
  }

  kill(): void {
    for (const each of this.places) each.kill();
  }

  /** Without a draw where there is one alone. */
  private pick(random: Random): number {
    const { count } = this.options;
    return count === 1 ? 0 : random.int(0, count - 1);
  }

  private boot(place: number): void {
    // It died once more before it came up.
    if (this.places[place]?.isAlive === true) return;
    this.incarnations += 1;
    const starting = new SimulatedProcess(this.options.outside, `process-${this.incarnations}`);
    this.places[place] = starting;
    starting.network.conditions = this.options.conditions();
    starting.start().catch((error: unknown) => {
      // One that dies while it comes up has nothing to say.
      if (starting.isAlive) throw error;
    });
  }
}
