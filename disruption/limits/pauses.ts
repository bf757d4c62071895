import type { DisruptionReason } from '../../api/stowage/disruption-policy.js';
import type { Bound } from './start.js';

/** What a person has stopped: everything, a pool, a reason or a node. */
export interface StandingPause {
  readonly scope: { readonly kind: 'cluster' | 'nodePool' | 'reason' | 'node'; readonly name?: string };
  readonly reason: string;
  readonly actor: string;
  /** Milliseconds of the epoch; absent: until resumed. */
  readonly until?: number;
}

export interface Paused {
  readonly reason: DisruptionReason;
  readonly nodePool: string;
  readonly node?: string;
}

/** Whether a pause stands now and is about this node, pool or reason. */
export function isPausedBy({ scope, until }: StandingPause, about: Paused, now: number): boolean {
  if (until !== undefined && until <= now) return false;
  switch (scope.kind) {
    case 'cluster':
      return true;
    case 'reason':
      return scope.name === about.reason;
    case 'nodePool':
      return scope.name === about.nodePool;
    case 'node':
      return scope.name === about.node;
  }
}

/** Nothing goes while any pause stands; until the last of them ends. */
export function pauseBound(pauses: readonly StandingPause[], about: Paused, now: number): Bound {
  const standing = pauses.filter((pause) => isPausedBy(pause, about, now));
  const changesAt = standing.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const [first] = standing;
  if (first === undefined) return { allowed: Number.POSITIVE_INFINITY, what: '', changesAt: Number.POSITIVE_INFINITY };
  return { allowed: 0, what: `paused by ${first.actor}: ${first.reason}`, changesAt: Math.max(...changesAt) };
}
