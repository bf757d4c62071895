import type { DisruptionRate } from '../../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../../core/durations.js';
import { names, nodesOf, disruptedSince } from './past-disruptions.js';
import type { Bound, PastDisruption } from './past-disruptions.js';
import type { DisruptionReason } from '../../../api/disruption-reasons.js';

/**
 * What rates allow for a NodePool with `total` nodes: at most `nodes` in any period of length `per`. Only the period
 * that ends now matters, since no disruption lies after it.
 */
export function rateBound(
  rates: readonly DisruptionRate[] | undefined,
  reason: DisruptionReason,
  { pastDisruptions, total }: { readonly pastDisruptions: readonly PastDisruption[]; readonly total: number },
  now: number,
): Bound {
  let tightest: Bound = { allowed: Number.POSITIVE_INFINITY, what: '', changesAt: Number.POSITIVE_INFINITY };
  for (const rate of rates ?? []) {
    if (!names(rate.reasons, reason)) continue;
    const bound = boundOf(rate, pastDisruptions, total, now);
    const later = bound.allowed === 0 && tightest.allowed === 0 && bound.changesAt > tightest.changesAt;
    if (bound.allowed < tightest.allowed || later) tightest = bound;
  }
  return tightest;
}

function boundOf(rate: DisruptionRate, pastDisruptions: readonly PastDisruption[], total: number, now: number): Bound {
  const per = parseDuration(rate.per, 'per');
  // A disruption exactly `per` ago is outside of that period.
  const used = disruptedSince(pastDisruptions, now - per + 1, rate.reasons);
  return {
    allowed: Math.max(0, nodesOf(rate.nodes, total) - used),
    what: `rate ${rate.nodes} in ${rate.per} (${used} used)`,
    changesAt: roomAt(rate, pastDisruptions, { per, total, used }, now),
  };
}

/** When enough past disruptions have left the period for one more. */
function roomAt(
  { nodes, reasons }: DisruptionRate,
  pastDisruptions: readonly PastDisruption[],
  { per, total, used }: { per: number; total: number; used: number },
  now: number,
): number {
  const limit = nodesOf(nodes, total);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  let left = used;
  const counted = pastDisruptions.filter(({ at, reason }) => at > now - per && names(reasons, reason));
  for (const { at, nodes: began } of counted.sort((a, b) => a.at - b.at)) {
    left -= began;
    if (left < limit) return at + per;
  }
  return Number.POSITIVE_INFINITY;
}
