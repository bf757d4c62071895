import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import type { Pause, PauseScope } from '../workflows/messages.js';

const scopeKinds = { Cluster: 'cluster', NodePool: 'nodePool', Node: 'node', Reason: 'reason' } as const;

/** A DisruptionPause in the form that workflows use. */
export function pauseOf({ spec, metadata }: DisruptionPause): Pause {
  const until = endOf(spec);
  return {
    scope: scopeOfPause(spec.scope),
    reason: spec.message,
    actor: spec.requestedBy ?? `DisruptionPause ${metadata.name ?? ''}`,
    ...(Number.isFinite(until) ? { until } : {}),
  };
}

export function scopeOfPause({ kind, name, reason }: DisruptionPause['spec']['scope']): PauseScope {
  return {
    kind: scopeKinds[kind],
    ...(name === undefined || kind === 'Cluster' ? {} : { name }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Whether the pause has expired; `now` is in milliseconds since the epoch. */
export const isPauseOver = ({ spec }: DisruptionPause, now: number): boolean => endOf(spec) <= now;

/** Milliseconds since the epoch; infinity if it does not expire. */
function endOf({ until }: DisruptionPause['spec']): number {
  return until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
}
