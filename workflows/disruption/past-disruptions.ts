import { rememberDisruptions } from '../../disruption/budgets/limits/past-disruptions.js';
import type { PastDisruption, DisruptionReason, GoingNode } from '../messages.js';

/** Rates and quotas look back no further: policies with longer ones are refused. */
const keptMs = 31 * 24 * 3_600_000;

/** Notes that these nodes were let go at `now`, and forgets what is older than any rate or quota looks back. */
export function recordDisruption(
  pastDisruptions: readonly PastDisruption[],
  reason: DisruptionReason,
  nodes: readonly GoingNode[],
  now: number,
): readonly PastDisruption[] {
  const fresh = nodes.map(({ nodePool }): PastDisruption => ({ nodePool, reason, at: now, nodes: 1 }));
  return rememberDisruptions([...pastDisruptions, ...fresh], keptMs, now);
}
