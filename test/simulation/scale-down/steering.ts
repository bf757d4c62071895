import { steerPods } from '../../../activities/consolidation/steering.js';
import type { World } from './world.js';

/** Keeps soft taints on the nodes that no running move is to fill, as `disrupt` does. */
export class Steering {
  private readonly moves = new Map<string, readonly string[]>();
  private steered: readonly string[] = [];

  constructor(private readonly world: World) {}

  begin(move: string, targets: readonly string[]): Promise<void> {
    this.moves.set(move, targets);
    return this.apply();
  }

  async end(move: string): Promise<void> {
    if (this.moves.delete(move)) await this.apply();
  }

  private async apply(): Promise<void> {
    const targets = [...new Set([...this.moves.values()].flat())];
    this.steered = (await steerPods(this.world.deps, { targets, steered: [...this.steered] })).steered;
  }
}
