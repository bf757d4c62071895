import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';

/** As Go reads RFC 3339. `Date.parse` alone takes other texts, too: of `10` it makes a day in 2001. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * The deadline that annotation `karpenter.sh/nodeclaim-termination-timestamp` says, milliseconds of the epoch; infinity without one.
 * A text that is no time says nothing: neither may it end the protection of pods nor take the place of another deadline.
 */
export function stampedDeadline({ metadata }: Pick<NodeClaim, 'metadata'>): number {
  const stamped = metadata.annotations?.[annotations.terminationTimestamp] ?? '';
  const at = rfc3339.test(stamped) ? Date.parse(stamped) : Number.NaN;
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
}
