import { rememberDisruptions } from '../../disruption/budgets/limits/past-disruptions.js';
import type { PastDisruption, DisruptionReason, CandidateRef } from '../messages.js';

/** The longest period of a rate or quota: the schema refuses longer ones. */
const keptMs = 31 * 24 * 3_600_000;

/** Records that these nodes are disrupted from `now` on, and drops records that no rate or quota needs. */
export function recordDisruption(
  pastDisruptions: readonly PastDisruption[],
  reason: DisruptionReason,
  nodes: readonly CandidateRef[],
  now: number,
): readonly PastDisruption[] {
  const fresh = nodes.map(({ nodePool }): PastDisruption => ({ nodePool, reason, at: now, nodes: 1 }));
  return rememberDisruptions([...pastDisruptions, ...fresh], keptMs, now);
}
