import type { Replica } from '../replica.js';
import { Deaths, type DeathOptions } from './deaths.js';

/** Time for what is reached to gather, milliseconds: a start takes longer than all else. */
const gather = { gatherMs: 3000, gatherAtMostMs: 15_000 };

/** A process of Stowage that dies by SIGKILL at every point it comes to, once each, and is started again. */
export class Victim {
  readonly points: Deaths;
  deaths = 0;
  private replica: Replica | undefined;
  private isDown = false;
  private lost: Error | undefined;

  constructor(
    readonly name: string,
    options: Pick<DeathOptions, 'quietMs' | 'onlyJoins'>,
    private readonly report: (line: string) => void,
  ) {
    this.points = new Deaths({ ...options, ...gather, kill: () => void this.die() });
  }

  /** From now on this is the process. */
  embody(replica: Replica): void {
    this.replica = replica;
  }

  /** Why it ended without being killed, or does not start again. */
  failure(): Error | undefined {
    if (this.lost !== undefined || this.isDown || this.replica?.isRunning !== false) return this.lost;
    return new Error(`The ${this.name} ended by itself: ${this.replica.said}`);
  }

  private async die(): Promise<void> {
    this.isDown = true;
    try {
      await this.replica?.kill();
      this.deaths += 1;
      this.report(`death ${this.deaths} of the ${this.name}, at point ${this.points.reached.length}`);
      this.points.died();
      await this.replica?.start();
      this.points.revived();
    } catch (error) {
      this.lost = new Error(`The ${this.name} does not come up again`, { cause: error });
    } finally {
      this.isDown = false;
    }
  }
}
