import type { Departure, DisruptionReason, GoingNode } from './messages.js';

/** Rates look back over minutes, quotas over one opening of a window. */
const keptMs = 7 * 24 * 3_600_000;
const mostKept = 400;
const hour = 3_600_000;

/**
 * Notes that these nodes were let go at `now`. Entries older than an hour are merged into one an hour with the later time,
 * which errs on the side of fewer nodes; older ones than a week are forgotten.
 */
export function recordDeparture(
  departures: readonly Departure[],
  reason: DisruptionReason,
  nodes: readonly GoingNode[],
  now: number,
): readonly Departure[] {
  const merged = new Map<string, Departure>();
  for (const one of departures) {
    if (now - one.at > keptMs) continue;
    const age = now - one.at > hour ? `hour ${Math.floor(one.at / hour)}` : `at ${one.at}`;
    add(merged, `${one.nodePool}/${one.reason}/${age}`, one);
  }
  for (const { nodePool } of nodes)
    add(merged, `${nodePool}/${reason}/at ${now}`, { nodePool, reason, at: now, nodes: 1 });
  return [...merged.values()].slice(-mostKept);
}

function add(merged: Map<string, Departure>, key: string, one: Departure): void {
  const there = merged.get(key);
  merged.set(
    key,
    there === undefined ? one : { ...one, at: Math.max(there.at, one.at), nodes: there.nodes + one.nodes },
  );
}
