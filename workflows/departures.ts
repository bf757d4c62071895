import { remember } from '../disruption/limits/departures.js';
import type { Departure, DisruptionReason, GoingNode } from './messages.js';

/** Rates and quotas look back no further: policies with longer ones are refused. */
const keptMs = 31 * 24 * 3_600_000;

/** Notes that these nodes were let go at `now`, and forgets what is older than any rate or quota looks back. */
export function recordDeparture(
  departures: readonly Departure[],
  reason: DisruptionReason,
  nodes: readonly GoingNode[],
  now: number,
): readonly Departure[] {
  const fresh = nodes.map(({ nodePool }): Departure => ({ nodePool, reason, at: now, nodes: 1 }));
  return remember([...departures, ...fresh], keptMs, now);
}
