import type { DisruptionReason } from '../../../api/disruption-reasons.js';

/** Nodes of one NodePool that were disrupted for one reason at about one time. */
export interface PastDisruption {
  readonly nodePool: string;
  readonly reason: DisruptionReason;
  /** When the last of them began to be disrupted, milliseconds of the epoch. */
  readonly at: number;
  readonly nodes: number;
}

/** One bound on the number of nodes of a NodePool that may be disrupted. */
export interface Bound {
  /** How many more may be disrupted now; infinity if it sets no bound. */
  readonly allowed: number;
  /** The limit, in words. */
  readonly what: string;
  /** When it changes by time alone, milliseconds of the epoch; infinity for never. */
  readonly changesAt: number;
}

/** How many nodes were disrupted since a time, for the reasons that a bound names. */
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

/** Whether an entry of a policy applies to a reason; without reasons it applies to all. */
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
 * The past disruptions of the last `memoryMs`, merged so that few enough remain to be carried over. Old ones of the
 * same NodePool and reason that are close in time are merged at the later time, so that counts are never too low.
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
