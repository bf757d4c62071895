import type { Replica } from '../replica.js';
import { Deaths, type DeathOptions } from './deaths.js';

/** Time for what is reached to gather, milliseconds. */
const gatherMs = 1500;

/** A process of Stowage that dies by SIGKILL at every point it comes to, once each, and is started again. */
export class Victim {
  readonly points: Deaths;
  deaths = 0;
  private replica: Replica | undefined;
  private isDying = false;

  constructor(
    readonly name: string,
    options: Pick<DeathOptions, 'quietMs' | 'onlyJoins'>,
    private readonly tell: (line: string) => void,
  ) {
    this.points = new Deaths({ ...options, gatherMs, kill: () => void this.die() });
  }

  /** From now on this is the process. */
  embody(replica: Replica): void {
    this.replica = replica;
  }

  /** Why it is gone, if nobody killed it. */
  failure(): Error | undefined {
    if (this.isDying || this.replica?.isRunning !== false) return undefined;
    return new Error(`The ${this.name} ended by itself: ${this.replica.said}`);
  }

  private async die(): Promise<void> {
    this.isDying = true;
    try {
      await this.replica?.kill();
      this.deaths += 1;
      this.tell(`death ${this.deaths} of the ${this.name}, at point ${this.points.reached.length}`);
      this.points.died();
      this.replica?.launch();
    } finally {
      this.isDying = false;
    }
  }
}
