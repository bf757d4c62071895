import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import { annotations } from '../api/labels.js';
import { waitOf } from '../cluster/disruption-wait.js';
import { interruptionNoteOf } from '../cluster/interruption-note.js';
import { labelsOf, poolText } from '../cluster/node-labels.js';
import { scopeOfPause } from '../cluster/pauses.js';
import { isTrue } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { timeText } from '../core/time.js';
import { regarding, type EventSubject } from '../core/events.js';
import type { OperatorContext } from './context.js';
import { isDeleting, nameOf } from '../core/names.js';
import { pauseScopeText } from '../core/pause-scope.js';
import type { ClusterCache } from '../kube/port.js';
import { managedPools, nodeClassOf } from '../cluster/cluster.js';
import { WorkQueue } from './work-queue.js';

/** What happened to an object, as the page shows it; what is news on the object itself is also an event. */
interface ClusterChange {
  readonly kind:
    'launch' | 'ready' | 'drift' | 'interruption' | 'wait' | 'drain' | 'gone' | 'pause' | 'resume' | 'answer';
  /** In words. */
  readonly what: string;
  /** A node, a NodePool, or the scope of a pause. */
  readonly subject: string;
  /** A person; empty for Stowage. */
  readonly by: string;
  readonly event?: {
    readonly regarding: EventSubject;
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
  };
}

/** Publishes events for changes of objects that would otherwise only be visible on the object (events/of-people, events/of-nodes). */
export const publishChanges = ({ cache, events }: Pick<OperatorContext, 'cache' | 'events'>): (() => void) =>
  followChanges(cache, ({ event, what: message }) => {
    if (event === undefined) return;
    const { kind, name } = event.regarding;
    events.publish({ ...event, message, dedupeBy: [kind, name, message] });
  });

/**
 * Calls `publish` for pauses, refusals, launches, terminations and what else happens to NodeClaims from now on, not for
 * states that existed before. Returns a function that stops it.
 */
export function followChanges(cache: ClusterCache, publish: (change: ClusterChange) => void): () => void {
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (!cache.synced) return;
      const subject = object.status?.nodeName ?? nameOf(object);
      for (const change of claimChanges(type, object, previous)) publish({ subject, by: '', ...change });
    }),
    cache.on('NodePool', ({ type, object, previous }) => {
      if (type !== 'modified' || previous === undefined || isStopped(previous) === isStopped(object)) return;
      const about = regarding('NodePool', object.metadata);
      const of = { kind: 'answer', subject: `NodePool ${about.name}`, by: '' } as const;
      if (isStopped(object))
        publish({
          ...{ ...of, what: 'Its rollout was stopped: drifted nodes stay' },
          event: { regarding: about, type: 'Warning', reason: 'RolloutStopped' },
        });
      else
        publish({
          ...{ ...of, what: `Its rollout may begin again${reconsideredBy(object)}` },
          event: { regarding: about, type: 'Normal', reason: 'RolloutMayBegin' },
        });
    }),
    cache.on('DisruptionPause', ({ type, object, previous }) => {
      // A write of its status is no new pause.
      if (!cache.synced || (type === 'modified' && previous?.metadata.generation === object.metadata.generation))
        return;
      const about = { regarding: subjectOf(object), type: 'Normal' } as const;
      const subject = pauseScopeText(scopeOfPause(object.spec.scope));
      if (type === 'deleted')
        publish({
          ...{ kind: 'resume', what: `${scopeText(object)} is no longer paused`, subject, by: '' },
          event: { ...about, reason: 'DisruptionResumed' },
        });
      else
        publish({
          ...{ kind: 'pause', what: `${scopeText(object)} is paused${pauseText(object)}`, subject },
          ...{ by: object.spec.requestedBy ?? '', event: { ...about, reason: 'DisruptionPaused' } },
        });
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

type ClaimChange = Pick<ClusterChange, 'kind' | 'what' | 'event'>;

function claimChanges(type: string, now: NodeClaim, before: NodeClaim | undefined): readonly ClaimChange[] {
  const { instanceType, capacityType, zone, nodePool } = labelsOf(now);
  if (type === 'added') return [{ kind: 'launch', what: `Created for ${poolText(nodePool)}` }];
  if (type === 'deleted') return [{ kind: 'gone', what: 'Gone' }];
  if (before === undefined) return [];
  const about = { regarding: regarding('NodeClaim', now.metadata), type: 'Normal' } as const;
  const became = (condition: string): boolean =>
    !isTrue(before.status?.conditions, condition) && isTrue(now.status?.conditions, condition);
  const machine =
    instanceType === '' ? 'an instance that was never launched' : `${instanceType} (${capacityType}) in ${zone}`;
  const [note, wait] = [interruptionNoteOf(now), waitOf(now)];
  const answers = (
    [
      ['expirationDeclined', 'Expiration', ['It does not expire', 'It expires again']],
      ['repairDeclined', 'Repair', ['It is not repaired', 'Its repair may be proposed again']],
    ] as const
  ).flatMap(([annotation, what, texts]) => refusalEvents([before, now], annotations[annotation], what, texts));
  const changes: readonly (ClaimChange | false)[] = [
    note !== undefined &&
      interruptionNoteOf(before) === undefined && {
        kind: 'interruption',
        what: `Interruption announced: ${note.kind.replaceAll('_', ' ')}`,
      },
    became('Launched') && {
      ...{ kind: 'launch', what: `Launched ${machine} for ${poolText(nodePool)}` },
      event: { ...about, reason: 'Launched' },
    },
    !isDeleting(before) &&
      isDeleting(now) && {
        ...{ kind: 'drain', what: `Terminating ${machine} of ${poolText(nodePool)}` },
        event: { ...about, reason: 'Terminating' },
      },
    became('Initialized') && { kind: 'ready', what: 'Ready for pods' },
    became('Drifted') && { kind: 'drift', what: 'Drifted' },
    wait !== undefined &&
      wait.why !== waitOf(before)?.why && { kind: 'wait', what: `${wait.reason} waits: ${wait.why}` },
    ...answers.map(([reason, what]): ClaimChange => ({ kind: 'answer', what, event: { ...about, reason } })),
  ];
  return changes.filter((change) => change !== false);
}

/** Events for a refusal by a user with its reason, and for its withdrawal. */
function refusalEvents(
  [before, now]: readonly [NodeClaim, NodeClaim],
  annotation: string,
  what: string,
  [declined, again]: readonly [string, string],
): (readonly [reason: string, message: string])[] {
  const whyIn = ({ metadata }: NodeClaim): string | undefined => lookUp(metadata.annotations, annotation);
  const [was, is] = [whyIn(before), whyIn(now)];
  if (is !== undefined && was === undefined) return [[`${what}Declined`, `${declined}: ${is}`]];
  if (is === undefined && was !== undefined) return [[`${what}Reconsidered`, `${again}${reconsideredBy(now)}`]];
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

const everyMs = 30_000;
const all = 'all';

/**
 * Publishes events for NodePools from the cloud, such as zonal shifts, every 30 seconds (zonal-shift/events). Does
 * nothing if the provider has none.
 */
export function publishPoolEvents(context: OperatorContext): () => void {
  if (context.cloud.poolEvents === undefined) return () => undefined;
  const queue = new WorkQueue('publishing events of NodePools', () => publishNewEvents(context), context.log);
  queue.add(all);
  return () => queue.stop();
}

/** Publishes new events for all NodePools whose node class exists. */
export async function publishNewEvents(
  context: Pick<OperatorContext, 'cache' | 'cloud' | 'events'>,
): Promise<{ readonly afterMs: number }> {
  const pools = managedPools(context).flatMap((pool) => {
    const nodeClass = nodeClassOf(context, pool.spec.template.spec.nodeClassRef);
    return nodeClass === undefined ? [] : [{ pool, nodeClass }];
  });
  for (const { pool, ...event } of (await context.cloud.poolEvents?.(pools)) ?? []) {
    context.events.publish({ ...event, regarding: regarding('NodePool', pool.metadata) });
  }
  return { afterMs: everyMs };
}
