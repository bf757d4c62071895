import type { ClusterDeps } from '../../cluster/deps.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { interruptionNoteOf } from '../../cluster/interruption-note.js';
import { labelsOf, poolText } from '../../cluster/node-labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { pauseOf } from '../../cluster/pauses.js';
import { isTrue } from '../../core/conditions.js';
import { isDeleting } from '../../core/names.js';
import { pauseScopeText } from '../../core/pause-scope.js';
import type { PageDecision } from './snapshot.js';

/**
 * Calls `publish` for what happens to NodeClaims and pauses from now on. What happened before this process started is in
 * `stowage history` and `stowage report`.
 */
export function publishedDecisions(
  { cache, now }: Pick<ClusterDeps, 'cache' | 'now'>,
  publish: (decision: PageDecision) => void,
): () => void {
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (!cache.synced) return;
      const change =
        type === 'added'
          ? ({ kind: 'launch', what: `created for ${poolText(labelsOf(object).nodePool)}` } as const)
          : type === 'deleted'
            ? ({ kind: 'gone', what: 'gone' } as const)
            : previous === undefined
              ? undefined
              : changeOf(previous, object);
      if (change !== undefined) publish({ at: now(), ...change, subject: nameOf(object), by: '' });
    }),
    cache.on('DisruptionPause', ({ type, object }) => {
      if (!cache.synced) return;
      const { scope, actor, reason } = pauseOf(object);
      const subject = pauseScopeText(scope);
      if (type === 'deleted') publish({ at: now(), kind: 'resume', what: 'resumed', subject, by: '' });
      else publish({ at: now(), kind: 'pause', what: `paused: ${reason}`, subject, by: actor });
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

const nameOf = ({ metadata, status }: NodeClaim): string => status?.nodeName ?? metadata.name ?? '';

/** The most important change of a NodeClaim. */
function changeOf(before: NodeClaim, now: NodeClaim): Pick<PageDecision, 'kind' | 'what'> | undefined {
  const became = (type: string): boolean =>
    !isTrue(before.status?.conditions, type) && isTrue(now.status?.conditions, type);
  const { instanceType, zone, capacityType } = labelsOf(now);
  const note = interruptionNoteOf(now);
  if (note !== undefined && interruptionNoteOf(before) === undefined)
    return { kind: 'interruption', what: `interruption announced: ${note.kind.replaceAll('_', ' ')}` };
  if (!isDeleting(before) && isDeleting(now)) return { kind: 'drain', what: 'drain begins' };
  if (became('Launched')) return { kind: 'launch', what: `launched as ${instanceType} ${capacityType} in ${zone}` };
  if (became('Initialized')) return { kind: 'ready', what: 'ready for pods' };
  if (became('Drifted')) return { kind: 'drift', what: 'drifted' };
  const wait = waitOf(now);
  return wait === undefined || wait.why === waitOf(before)?.why
    ? undefined
    : { kind: 'wait', what: `${wait.reason} waits: ${wait.why}` };
}
