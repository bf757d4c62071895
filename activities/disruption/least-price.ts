import { messageOf } from '../../core/error-message.js';
import { managedPools } from '../../cluster/cluster.js';
import { packingInput } from '../../cluster/packing-input.js';
import type { LeastPossible } from '../../packing/least-possible.js';
import type { ActivityDeps } from '../deps.js';

/**
 * The price is only shown to people, so a busy cluster computes it at most this often, and spends at most a twentieth
 * of the time on it.
 */
const leastRestMs = 15_000;
const restFactor = 20;

/** The least possible price of the running pods, shown to people. Computed again after the cluster has changed. */
export class LeastPrice {
  private last: LeastPossible | undefined;
  private seen = -1;
  private restUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: ActivityDeps) {}

  /** `seen` counts the changes of the cluster. A failure leaves it unknown, and is no failure of the search. */
  async of(seen: number): Promise<LeastPossible | undefined> {
    const { deps } = this;
    const now = deps.now();
    if (seen === this.seen || now < this.restUntil) return this.last;
    this.seen = seen;
    try {
      this.last = await deps.packer.leastPossible(await packingInput(deps, managedPools(deps)));
    } catch (error) {
      this.last = undefined;
      deps.log.warn({ error: messageOf(error) }, 'the lower bound of the price of the nodes is not known');
    }
    this.restUntil = now + Math.max(leastRestMs, (deps.now() - now) * restFactor);
    return this.last;
  }

  /** When to compute it again, for changes that came too soon after the last time; milliseconds of the epoch. */
  due(seen: number): readonly number[] {
    return seen === this.seen ? [] : [this.restUntil];
  }
}
