import { unlaunchedClaims } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';

/**
 * Claims whose instance is still to be launched. Planning waits for them a moment, for what they will hold is known then. A
 * claim that has been waited for that long is not waited for again: until it has its instance it counts as a node with room
 * for what it was created for, so that one launch that hangs holds up no other pod.
 */
export class AwaitedInstances {
  /** Claims that were waited for in vain, by UID. */
  private givenUp: ReadonlySet<string> = new Set();

  constructor(
    private readonly deps: Pick<ActivityDeps, 'cloud' | 'cache'>,
    private readonly patienceMs: number,
  ) {}

  /** Resolves once every claim has its instance or has been waited for long enough. Rejects when `signal` aborts. */
  async settle(signal: AbortSignal): Promise<void> {
    for (let awaited = this.awaited(); awaited.length > 0; awaited = this.awaited()) {
      const patience = AbortSignal.timeout(this.patienceMs);
      const isWithoutInstance = (uid: string): boolean => this.unlaunched().includes(uid);
      try {
        await this.deps.cache.until(() => !awaited.some(isWithoutInstance), AbortSignal.any([signal, patience]));
      } catch (error) {
        if (!patience.aborted || signal.aborted) throw error;
        this.givenUp = new Set([...this.givenUp, ...awaited]);
      }
    }
  }

  private awaited(): readonly string[] {
    const unlaunched = this.unlaunched();
    this.givenUp = new Set(unlaunched.filter((uid) => this.givenUp.has(uid)));
    return unlaunched.filter((uid) => !this.givenUp.has(uid));
  }

  private unlaunched(): readonly string[] {
    return unlaunchedClaims(this.deps).map(({ metadata }) => metadata.uid ?? '');
  }
}
