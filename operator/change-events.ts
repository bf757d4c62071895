import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import { annotations } from '../api/labels.js';
import { labelsOf, poolText } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { timeText } from '../core/time.js';
import { regarding, type EventSubject } from '../core/events.js';
import type { OperatorContext } from './context.js';
import { isDeleting } from '../core/names.js';

type Context = Pick<OperatorContext, 'cache' | 'events'>;

/**
 * Publishes events for changes of objects that would otherwise only be visible on the object (events/of-people,
 * events/of-nodes): pauses, refusals, launches and terminations. States that existed before this process started are
 * not published.
 */
export function publishChanges({ cache, events }: Context): () => void {
  const publish = (subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void =>
    events.publish({ regarding: subject, type, reason, message, dedupeBy: [subject.kind, subject.name, message] });
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (type !== 'modified' || previous === undefined) return;
      for (const [kind, reason, message] of claimEvents(previous, object))
        publish(regarding('NodeClaim', object.metadata), kind, reason, message);
    }),
    cache.on('NodePool', ({ type, object, previous }) => {
      if (type !== 'modified' || previous === undefined || isStopped(previous) === isStopped(object)) return;
      const pool = regarding('NodePool', object.metadata);
      if (isStopped(object)) publish(pool, 'Warning', 'RolloutStopped', 'Its rollout was stopped: drifted nodes stay');
      else publish(pool, 'Normal', 'RolloutMayBegin', `Its rollout may begin again${reconsideredBy(object)}`);
    }),
    cache.on('DisruptionPause', ({ type, object }) => {
      const subject = subjectOf(object);
      if (type === 'deleted')
        publish(subject, 'Normal', 'DisruptionResumed', `${scopeText(object)} is no longer paused`);
      else publish(subject, 'Normal', 'DisruptionPaused', `${scopeText(object)} is paused${pauseText(object)}`);
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

type ObjectEvent = readonly [type: 'Normal' | 'Warning', reason: string, message: string];

function claimEvents(before: NodeClaim, now: NodeClaim): readonly ObjectEvent[] {
  const launched = (claim: NodeClaim): boolean => isTrue(claim.status?.conditions, 'Launched');
  const { instanceType, capacityType, zone, nodePool } = labelsOf(now);
  const what =
    instanceType === '' ? 'an instance that was never launched' : `${instanceType} (${capacityType}) in ${zone}`;
  const events: ObjectEvent[] = [];
  if (!launched(before) && launched(now))
    events.push(['Normal', 'Launched', `Launched ${what} for ${poolText(nodePool)}`]);
  if (!isDeleting(before) && isDeleting(now))
    events.push(['Normal', 'Terminating', `Terminating ${what} of ${poolText(nodePool)}`]);
  events.push(
    ...refusalEvents([before, now], annotations.expirationDeclined, 'Expiration', [
      'It does not expire',
      'It expires again',
    ]),
    ...refusalEvents([before, now], annotations.repairDeclined, 'Repair', [
      'It is not repaired',
      'Its repair may be proposed again',
    ]),
  );
  return events;
}

/** Events for a refusal by a user with its reason, and for its withdrawal. */
function refusalEvents(
  [before, now]: readonly [NodeClaim, NodeClaim],
  annotation: string,
  what: string,
  [declined, again]: readonly [string, string],
): ObjectEvent[] {
  const whyIn = ({ metadata }: NodeClaim): string | undefined => lookUp(metadata.annotations, annotation);
  const [was, is] = [whyIn(before), whyIn(now)];
  if (is !== undefined && was === undefined) return [['Normal', `${what}Declined`, `${declined}: ${is}`]];
  if (is === undefined && was !== undefined)
    return [['Normal', `${what}Reconsidered`, `${again}${reconsideredBy(now)}`]];
  return [];
}

/** Who withdrew the refusal, if it was done by `stowage reconsider`. */
function reconsideredBy({ metadata }: NodeClaim | NodePool): string {
  const by = metadata.annotations?.[annotations.reconsidered];
  return by === undefined ? '' : `, ${by}`;
}

const isStopped = ({ metadata }: NodePool): boolean => metadata.annotations?.[annotations.driftStopped] !== undefined;

/** The paused NodePool or node; the pause itself for a wider scope. */
function subjectOf({ metadata, spec }: DisruptionPause): EventSubject {
  const { kind, name } = spec.scope;
  if ((kind === 'NodePool' || kind === 'Node') && name !== undefined) return regarding(kind, { name });
  const { name: own = '', uid } = metadata;
  return {
    ...{ apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPause', name: own },
    ...(uid === undefined ? {} : { uid }),
  };
}

function scopeText({ spec: { scope } }: DisruptionPause): string {
  if (scope.kind === 'Cluster') return 'Voluntary disruption of the cluster';
  if (scope.kind === 'Reason') return `Disruption for reason ${scope.name ?? ''}`;
  return `Voluntary disruption of ${scope.kind} ${scope.name ?? ''}${scope.reason === undefined ? '' : ` for ${scope.reason}`}`;
}

function pauseText({ spec: { until, requestedBy, message } }: DisruptionPause): string {
  const end = until === undefined ? '' : ` until ${timeText(until)}`;
  return `${end}${requestedBy === undefined ? '' : ` by ${requestedBy}`}: ${message}`;
}
