import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';

/** As Go reads RFC 3339. `Date.parse` accepts other texts as well: `10` becomes a day in 2001. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * The deadline in annotation `karpenter.sh/nodeclaim-termination-timestamp`, milliseconds of the epoch; infinity
 * without one. A text that is no time is ignored: it may neither end the protection of pods nor replace another
 * deadline.
 */
export function stampedDeadline({ metadata }: Pick<NodeClaim, 'metadata'>): number {
  const stamped = metadata.annotations?.[annotations.terminationTimestamp] ?? '';
  const at = rfc3339.test(stamped) ? Date.parse(stamped) : Number.NaN;
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
}

/**
 * The annotation's deadline if it is earlier than `deadline`, which the caller knows (absent: none); undefined
 * otherwise. The annotation has whole seconds: within the second of `deadline` it is that deadline, rounded down when
 * it was written.
 */
export function earlierStampedDeadline(
  claim: Pick<NodeClaim, 'metadata'>,
  deadline: number = Number.POSITIVE_INFINITY,
): number | undefined {
  const stamped = stampedDeadline(claim);
  const written = Number.isFinite(deadline) ? Math.floor(deadline / 1000) * 1000 : deadline;
  return stamped < written ? stamped : undefined;
}
