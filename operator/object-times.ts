import type { Condition, KubernetesObject, Pod } from '../api/kubernetes.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import type { Metrics } from '../core/telemetry.js';
import type { ClusterCache } from '../kube/port.js';

type Watched = Pick<ClusterCache, 'on' | 'onEach'>;
interface Context {
  readonly cache: Watched;
  readonly metrics: Pick<Metrics, 'count' | 'observe'>;
  readonly cloud: { readonly nodeClassKind: { readonly kind: string } };
  readonly now: () => number;
}
interface Conditioned extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}
interface Change {
  readonly type: 'added' | 'modified' | 'deleted';
  readonly object: Conditioned;
  readonly previous?: Conditioned;
}

/** Measures how long pods wait and conditions last (metrics/durations). */
export function watchObjectTimes(context: Context): () => void {
  const { cache, cloud } = context;
  const stops = [
    watchPods(context),
    cache.on('NodeClaim', reporter(context, 'nodeclaim')),
    cache.on('NodePool', reporter(context, 'nodepool')),
    cache.on('Node', reporter(context, 'node')),
    ...(cloud.nodeClassKind.kind === 'EC2NodeClass'
      ? [cache.on('EC2NodeClass', reporter(context, 'ec2nodeclass'))]
      : []),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** A pod counts for start-up once: when it first becomes Ready after it was seen Pending. */
function watchPods({ cache, metrics }: Context): () => void {
  const starting = new Set<string>();
  const isPending = ({ status }: Pod): boolean => status?.phase === 'Pending';
  const note = (pod: Pod): void => {
    if (isPending(pod)) starting.add(pod.metadata.uid ?? '');
  };
  return cache.onEach('Pod', ({ type, object, previous }) => {
    const uid = object.metadata.uid ?? '';
    if (type === 'deleted') {
      starting.delete(uid);
      return;
    }
    note(object);
    if (previous !== undefined && !isBound(previous) && isBound(object)) {
      observe(metrics, 'pods_bound_duration_seconds', object, 'PodScheduled');
    }
    if (starting.has(uid) && isTrue(object.status?.conditions, 'Ready')) {
      starting.delete(uid);
      observe(metrics, 'pods_startup_duration_seconds', object, 'Ready');
    }
  });
}

function isBound({ spec }: Pod): boolean {
  return (spec.nodeName ?? '') !== '';
}

function observe(
  metrics: Context['metrics'],
  name: 'pods_bound_duration_seconds' | 'pods_startup_duration_seconds',
  { metadata, status }: Pod,
  type: 'PodScheduled' | 'Ready',
): void {
  const at = Date.parse(conditionOf(status?.conditions, type)?.lastTransitionTime ?? '');
  const seconds = (at - Date.parse(metadata.creationTimestamp ?? '')) / 1000;
  if (seconds >= 0) metrics.observe(name, {}, seconds);
}

type Reported = 'nodeclaim' | 'nodepool' | 'node' | 'ec2nodeclass';

/**
 * Counts transitions of one kind's conditions with the duration of the previous status, and deletions of its objects.
 */
function reporter({ metrics, now }: Context, kind: Reported): (change: Change) => void {
  return ({ type, object, previous }) => {
    if (type === 'deleted') {
      const { deletionTimestamp = '' } = { ...previous?.metadata, ...object.metadata };
      const seconds = (now() - Date.parse(deletionTimestamp)) / 1000;
      if (seconds >= 0) metrics.observe(`operator_${kind}_termination_duration_seconds`, {}, seconds);
      return;
    }
    for (const condition of object.status?.conditions ?? []) {
      const before = conditionOf(previous?.status?.conditions, condition.type);
      if (before !== undefined && before.status !== condition.status) report(metrics, kind, before, condition);
    }
  };
}

function report(metrics: Context['metrics'], kind: Reported, before: Condition, after: Condition): void {
  const { type, status, reason = '' } = after;
  metrics.count(`operator_${kind}_status_condition_transitions_total`, { type, status, reason });
  const seconds = (Date.parse(after.lastTransitionTime ?? '') - Date.parse(before.lastTransitionTime ?? '')) / 1000;
  const own = { type, status: before.status, to_status: status };
  if (seconds >= 0) metrics.observe(`operator_${kind}_status_condition_transition_seconds`, own, seconds);
}
