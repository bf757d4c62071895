import { isTrue, transitionOf } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import { whyNoPool } from '../candidates/candidates.js';
import type { NodeView } from '../candidates/candidates.js';

/** When consolidateAfter begins to count (consolidation/consolidate-after): at the last pod event, or at initialization. */
export function idleSince({ claim }: Pick<NodeView, 'claim'>): number | undefined {
  const { lastPodEventTime, conditions } = claim.status ?? {};
  if (!isTrue(conditions, 'Initialized')) return undefined;
  return lastPodEventTime === undefined ? transitionOf(conditions, 'Initialized') : Date.parse(lastPodEventTime);
}

/**
 * Until when no pods may be moved to the node, by its NodePool's consolidateAfter (consolidation/consolidate-after); minus
 * infinity if there is no such time.
 */
export function settlesAt(view: Pick<NodeView, 'claim' | 'pool'>): number {
  const after = view.pool?.spec.disruption.consolidateAfter ?? 'Never';
  const since = idleSince(view);
  if (after === 'Never' || since === undefined) return Number.NEGATIVE_INFINITY;
  return since + parseNillableDuration(after, 'consolidateAfter');
}

/** When the node becomes Consolidatable (consolidation/consolidate-after); infinity for never. */
export function consolidatableAt(view: NodeView): number {
  const { pool } = view;
  const since = idleSince(view);
  if (pool === undefined || since === undefined || pool.spec.replicas !== undefined) return Number.POSITIVE_INFINITY;
  return since + parseNillableDuration(pool.spec.disruption.consolidateAfter, 'consolidateAfter');
}

/** Why `consolidatableAt` is never, in words. */
export function whyNeverConsolidatable(view: Pick<NodeView, 'claim' | 'pool'>): string {
  const { claim, pool } = view;
  const noPool = whyNoPool(view);
  if (noPool !== undefined) return noPool;
  if (pool?.spec.replicas !== undefined) return 'its NodePool is static';
  if (pool?.spec.disruption.consolidateAfter === 'Never') return 'its NodePool has consolidateAfter: Never';
  return isTrue(claim.status?.conditions, 'Initialized')
    ? 'its NodeClaim has no valid time from which consolidateAfter counts'
    : 'it is not initialized';
}
