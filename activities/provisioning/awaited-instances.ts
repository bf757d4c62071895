import { unlaunchedClaims } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';

interface WaitLimits {
  /** How long to wait for the instance of a NodeClaim, from when it was first seen here. */
  readonly totalMs: number;
  /** How long one call waits: it occupies a slot of the packing queue. */
  readonly perCallMs: number;
}

/**
 * Waits for NodeClaims whose instance is still being launched, because their capacity is known then. After the timeout a
 * NodeClaim is not waited for again: until it has its instance it counts as a node with room for what it was created for, so that
 * one slow launch does not block other pods.
 */
export class AwaitedInstances {
  /** When claims without an instance were first seen, by UID. */
  private readonly seenAt = new Map<string, number>();

  constructor(
    private readonly deps: Pick<ActivityDeps, 'cloud' | 'cache' | 'now'>,
    private readonly limits: WaitLimits,
  ) {}

  /** Names of the NodeClaims still to wait for, after a short wait. Rejects when `signal` aborts. */
  async missing(signal: AbortSignal): Promise<readonly string[]> {
    const timeout = AbortSignal.timeout(this.limits.perCallMs);
    try {
      await this.deps.cache.until(() => this.awaited().length === 0, AbortSignal.any([signal, timeout]));
      return [];
    } catch (error) {
      if (!timeout.aborted || signal.aborted) throw error;
      return this.awaited();
    }
  }

  private awaited(): readonly string[] {
    const now = this.deps.now();
    const unlaunched = unlaunchedClaims(this.deps).map(({ metadata: { name = '', uid = '' } }) => ({ name, uid }));
    const uids = new Set(unlaunched.map(({ uid }) => uid));
    for (const uid of this.seenAt.keys()) if (!uids.has(uid)) this.seenAt.delete(uid);
    for (const uid of uids) if (!this.seenAt.has(uid)) this.seenAt.set(uid, now);
    const isAwaited = (uid: string): boolean => now - (this.seenAt.get(uid) ?? now) < this.limits.totalMs;
    return unlaunched.filter(({ uid }) => isAwaited(uid)).map(({ name }) => name);
  }
}
