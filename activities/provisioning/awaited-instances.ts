import { unlaunchedClaims } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';

interface Patience {
  /** A claim is waited for so long, from when it was first seen here. */
  readonly inAllMs: number;
  /** One look waits so long: who looks holds a slot of the packing queue. */
  readonly aLookMs: number;
}

/**
 * Claims whose instance is still to be launched. Planning waits for them a moment, for what they will hold is known then. A
 * claim that has been waited for that long is not waited for again: until it has its instance it counts as a node with room
 * for what it was created for, so that one launch that hangs holds up no other pod.
 */
export class AwaitedInstances {
  /** When claims without an instance were first seen, by UID. */
  private readonly seenAt = new Map<string, number>();

  constructor(
    private readonly deps: Pick<ActivityDeps, 'cloud' | 'cache' | 'now'>,
    private readonly patience: Patience,
  ) {}

  /** Names of the claims that are to be waited for still, after a short look. Rejects when `signal` aborts. */
  async missing(signal: AbortSignal): Promise<readonly string[]> {
    const look = AbortSignal.timeout(this.patience.aLookMs);
    try {
      await this.deps.cache.until(() => this.awaited().length === 0, AbortSignal.any([signal, look]));
      return [];
    } catch (error) {
      if (!look.aborted || signal.aborted) throw error;
      return this.awaited();
    }
  }

  private awaited(): readonly string[] {
    const now = this.deps.now();
    const unlaunched = unlaunchedClaims(this.deps).map(({ metadata: { name = '', uid = '' } }) => ({ name, uid }));
    const uids = new Set(unlaunched.map(({ uid }) => uid));
    for (const uid of this.seenAt.keys()) if (!uids.has(uid)) this.seenAt.delete(uid);
    for (const uid of uids) if (!this.seenAt.has(uid)) this.seenAt.set(uid, now);
    const isAwaited = (uid: string): boolean => now - (this.seenAt.get(uid) ?? now) < this.patience.inAllMs;
    return unlaunched.filter(({ uid }) => isAwaited(uid)).map(({ name }) => name);
  }
}
