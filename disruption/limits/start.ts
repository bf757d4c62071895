import type { DisruptionReason } from '../../api/stowage/disruption-policy.js';

/** Nodes of a pool whose disruption began. */
export interface Start {
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
export function startedSince(starts: readonly Start[], from: number, reasons?: readonly DisruptionReason[]): number {
  let sum = 0;
  for (const { at, reason, nodes } of starts) {
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

const keptAtMost = 256;

/**
 * What has to be remembered of the starts: those of the last `memoryMs`. When there are very many, the oldest of a pool and
 * reason are merged at the later time, so that what is counted never falls short.
 */
export function remember(starts: readonly Start[], memoryMs: number, now: number): Start[] {
  const recent = starts.filter(({ at }) => at > now - memoryMs);
  let grain = 1000;
  let kept = merged(recent, grain);
  while (kept.length > keptAtMost && grain < memoryMs) {
    grain *= 4;
    kept = merged(recent, grain);
  }
  return kept;
}

function merged(starts: readonly Start[], grain: number): Start[] {
  const groups = new Map<string, Start>();
  for (const start of [...starts].sort((a, b) => a.at - b.at)) {
    const key = `${start.nodePool}/${start.reason}/${Math.floor(start.at / grain)}`;
    const before = groups.get(key);
    groups.set(key, before === undefined ? start : { ...start, nodes: before.nodes + start.nodes });
  }
  return [...groups.values()];
}
