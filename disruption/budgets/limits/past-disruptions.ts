import type { DisruptionReason } from '../../../api/stowage/disruption-policy.js';

/** Nodes of a pool that were let go. */
export interface PastDisruption {
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  readonly nodes: number;
}

/** One of the bounds on how many nodes of a pool may go. */
export interface Bound {
  /** How many more may go now; infinity where it sets none. */
  readonly allowed: number;
  /** What it is, for a person. */
  readonly what: string;
  /** When it changes by the passing of time alone, milliseconds of the epoch; infinity for never. */
  readonly changesAt: number;
}

/** Counted against the bounds of a pool, for the reasons that a bound names. */
export function disruptedSince(
  pastDisruptions: readonly PastDisruption[],
  from: number,
  reasons?: readonly DisruptionReason[],
): number {
  let sum = 0;
  for (const { at, reason, nodes } of pastDisruptions) {
    if (at >= from && names(reasons, reason)) sum += nodes;
  }
  return sum;
}

/** Whether an entry of a policy is about a reason; one that names none is about all. */
export function names(reasons: readonly DisruptionReason[] | undefined, reason: DisruptionReason): boolean {
  return reasons === undefined || reasons.includes(reason);
}

/** `30%` of the nodes, rounded up, or a plain number. */
export function nodesOf(nodes: string, total: number): number {
  return nodes.endsWith('%') ? Math.ceil((Number(nodes.slice(0, -1)) * total) / 100) : Number(nodes);
}

const hour = 3_600_000;
const keptAtMost = 256;

/**
 * What has to be remembered at `now`: the past disruptions of the last `memoryMs`, few enough to be carried along. Those of one
 * pool and reason that are close in time, old ones first, are merged at the later time: what is counted then never
 * falls short.
 */
export function rememberDisruptions(
  pastDisruptions: readonly PastDisruption[],
  memoryMs: number,
  now: number,
): PastDisruption[] {
  const sorted = pastDisruptions.filter(({ at }) => at > now - memoryMs).sort((a, b) => a.at - b.at);
  let [young, old] = [1000, hour];
  let kept = merged(sorted, now, young, old);
  while (kept.length > keptAtMost && (young < memoryMs || old < memoryMs)) {
    if (old < memoryMs) old *= 2;
    else young *= 4;
    kept = merged(sorted, now, young, old);
  }
  return kept;
}

function merged(sorted: readonly PastDisruption[], now: number, young: number, old: number): PastDisruption[] {
  const groups = new Map<string, PastDisruption>();
  for (const one of sorted) {
    const grain = now - one.at > hour ? old : young;
    const key = `${one.nodePool}/${one.reason}/${grain}/${Math.floor(one.at / grain)}`;
    const before = groups.get(key);
    groups.set(key, before === undefined ? one : { ...one, nodes: before.nodes + one.nodes });
  }
  return [...groups.values()];
}
