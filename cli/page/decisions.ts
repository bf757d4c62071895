import type { ClusterDeps } from '../../cluster/deps.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { labelsOf, poolText } from '../../cluster/node-labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { pauseOf } from '../../cluster/pauses.js';
import { isTrue } from '../../core/conditions.js';
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
      const what =
        type === 'added'
          ? `created for ${poolText(labelsOf(object).nodePool)}`
          : type === 'deleted'
            ? 'gone'
            : previous === undefined
              ? undefined
              : changeText(previous, object);
      if (what !== undefined) publish({ at: now(), what, subject: nameOf(object), by: '' });
    }),
    cache.on('DisruptionPause', ({ type, object }) => {
      if (!cache.synced) return;
      const { scope, actor, reason } = pauseOf(object);
      const subject = pauseScopeText(scope);
      if (type === 'deleted') publish({ at: now(), what: 'resumed', subject, by: '' });
      else publish({ at: now(), what: `paused: ${reason}`, subject, by: actor });
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

const nameOf = ({ metadata, status }: NodeClaim): string => status?.nodeName ?? metadata.name ?? '';

/** The most important change of a NodeClaim. */
function changeText(before: NodeClaim, now: NodeClaim): string | undefined {
  const became = (type: string): boolean =>
    !isTrue(before.status?.conditions, type) && isTrue(now.status?.conditions, type);
  const { instanceType, zone, capacityType } = labelsOf(now);
  if (before.metadata.deletionTimestamp === undefined && now.metadata.deletionTimestamp !== undefined)
    return 'drain begins';
  if (became('Launched')) return `launched as ${instanceType} ${capacityType} in ${zone}`;
  if (became('Initialized')) return 'ready for pods';
  if (became('Drifted')) return 'drifted';
  const wait = waitOf(now);
  return wait === undefined || wait.why === waitOf(before)?.why ? undefined : `${wait.reason} waits: ${wait.why}`;
}
