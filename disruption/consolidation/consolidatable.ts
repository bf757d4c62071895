import { isTrue, transitionOf } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import type { NodeView } from '../candidates/candidates.js';

/** Since when consolidateAfter counts (consolidation/consolidate-after): the last pod event, or initialization. */
export function idleSince({ claim }: Pick<NodeView, 'claim'>): number | undefined {
  const { lastPodEventTime, conditions } = claim.status ?? {};
  if (!isTrue(conditions, 'Initialized')) return undefined;
  return lastPodEventTime === undefined ? transitionOf(conditions, 'Initialized') : Date.parse(lastPodEventTime);
}

/** Until when its NodePool's consolidateAfter lets no pods be moved to the node (consolidation/consolidate-after); nothing holds minus infinity. */
export function settlesAt(view: Pick<NodeView, 'claim' | 'pool'>): number {
  const after = view.pool?.spec.disruption.consolidateAfter ?? 'Never';
  const since = idleSince(view);
  if (after === 'Never' || since === undefined) return Number.NEGATIVE_INFINITY;
  return since + parseNillableDuration(after, 'consolidateAfter');
}

/** From when on the node is Consolidatable (consolidation/consolidate-after); infinity for never. */
export function consolidatableAt(view: NodeView): number {
  const { pool } = view;
  const since = idleSince(view);
  if (pool === undefined || since === undefined || pool.spec.replicas !== undefined) return Number.POSITIVE_INFINITY;
  return since + parseNillableDuration(pool.spec.disruption.consolidateAfter, 'consolidateAfter');
}
