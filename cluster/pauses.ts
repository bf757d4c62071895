import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import { isDomainError } from '../core/failures.js';
import { pauseScopeText, pauseStops } from '../core/pause-scope.js';
import type { Log } from '../core/telemetry.js';
import { timeText } from '../core/time.js';
import type { KubeClient } from '../kube/port.js';
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

interface PauseDeps {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds of the epoch. */
  readonly now: () => number;
}

/**
 * The pauses in force, read from the API server; none where the kind is not installed. An activity that cannot be undone
 * reads them itself; pauses are kept nowhere else (invariants/pauses-hold).
 */
export async function activePauses(deps: PauseDeps): Promise<readonly Pause[]> {
  return pausesInForce((await pauseObjects(deps)) ?? [], deps.now());
}

export const pausesInForce = (objects: readonly DisruptionPause[], now: number): readonly Pause[] =>
  objects.filter((object) => !isPauseOver(object, now)).map(pauseOf);

/** Undefined where the kind is not installed. */
export async function pauseObjects({ kube, log }: PauseDeps): Promise<readonly DisruptionPause[] | undefined> {
  try {
    return await kube.list('DisruptionPause');
  } catch (error) {
    if (!isDomainError(error, 'NotFound')) throw error;
    log.warn({ kind: 'DisruptionPause' }, 'the kind is not installed: nothing can be paused (stowage crds)');
    return undefined;
  }
}

/** The pause that stops a disruption of the node for this reason, in words; undefined if there is none. */
export function whyPaused(
  pauses: readonly Pause[],
  reason: string,
  node: { readonly node: string; readonly nodePool: string },
): string | undefined {
  const pause = pauses.find(({ scope }) => pauseStops(scope, reason, node));
  if (pause === undefined) return undefined;
  const { scope, actor, reason: why, until } = pause;
  const end = until === undefined ? '' : ` until ${timeText(until)}`;
  return `${pauseScopeText(scope)} is paused by ${actor}${end}: ${why}`;
}
