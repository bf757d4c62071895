import { controllerOf, kindOf } from '../../core/owners.js';
import type { Pod } from '../../api/kubernetes.js';
import { compareText, counted } from '../../core/text.js';
import { isTrue, transitionOf } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import { isOwnedBy, isTerminal } from '../../core/pods.js';
import { timeText } from '../../core/time.js';
import { whyNoPool, type NodeView } from '../candidates/candidates.js';
import { fullName } from '../../core/names.js';

/**
 * When consolidateAfter begins to count (consolidation/consolidate-after): at the last pod event, or at initialization.
 */
export function idleSince({ claim }: Pick<NodeView, 'claim'>): number | undefined {
  const { lastPodEventTime, conditions } = claim.status ?? {};
  if (!isTrue(conditions, 'Initialized')) return undefined;
  return lastPodEventTime === undefined ? transitionOf(conditions, 'Initialized') : Date.parse(lastPodEventTime);
}

/**
 * Until when no pods may be moved to the node, by its NodePool's consolidateAfter (consolidation/consolidate-after);
 * minus infinity if there is no such time.
 */
export function settlesAt(view: Pick<NodeView, 'claim' | 'pool'>): number {
  const after = view.pool?.spec.disruption.consolidateAfter ?? 'Never';
  const since = idleSince(view);
  if (after === 'Never' || since === undefined) return Number.NEGATIVE_INFINITY;
  return since + parseNillableDuration(after, 'consolidateAfter');
}

/** When the node becomes Consolidatable (consolidation/consolidate-after); infinity for never. */
export function consolidatableAt(view: NodeView): number {
  const { pool } = view;
  const since = idleSince(view);
  if (pool === undefined || since === undefined || pool.spec.replicas !== undefined) return Number.POSITIVE_INFINITY;
  return since + parseNillableDuration(pool.spec.disruption.consolidateAfter, 'consolidateAfter');
}

/**
 * Pods must have kept changing for this many times consolidateAfter, and for this long, before a node counts as
 * unsettled.
 */
const unsettledTimes = 5;
const unsettledMs = 10 * 60_000;

/** Since when the pods of the node have kept changing, if that is long (consolidation/rolling-updates). */
export function unsettledSince(view: NodeView, now: number): number | undefined {
  const since = transitionOf(view.claim.status?.conditions, 'Unsettled');
  const at = consolidatableAt(view);
  if (since === undefined || !Number.isFinite(at) || at <= now) return undefined;
  return now - since < Math.max(unsettledMs, unsettledTimes * (at - idleSince(view)!)) ? undefined : since;
}

/** Why the node is not consolidatable by that time, and because of which pods (consolidation/consolidate-after). */
export function whyNotConsolidatable(view: NodeView, by: number): string | undefined {
  const at = consolidatableAt(view);
  if (at <= by) return undefined;
  if (!Number.isFinite(at)) return whyNever(view);
  const since = unsettledSince(view, by);
  const after = view.pool?.spec.disruption.consolidateAfter;
  const holds =
    since === undefined
      ? `consolidateAfter holds until ${timeText(at)}`
      : `consolidateAfter: ${after} has not passed without a pod event since ${timeText(since)}`;
  const workloads = changedWorkloads(view, 2 * idleSince(view)! - at);
  if (workloads.length === 0) return holds;
  const [most, ...others] = workloads;
  const more = others.length === 0 ? '' : ` and of ${counted(others.length, 'other workload')}`;
  const rolled = /^(Deployment|StatefulSet) /.test(most!)
    ? ' (a rolling update counts, also when its pods return to the node)'
    : '';
  return `${holds}: pods of ${most}${more} came or left${rolled}`;
}

/** Whose pods came to the node, ended or began to terminate since then; those with the most such pods first. */
function changedWorkloads({ pods }: NodeView, since: number): string[] {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    if (isOwnedBy(pod, 'DaemonSet.apps') || !(changedAt(pod) >= since)) continue;
    const workload = workloadText(pod);
    counts.set(workload, (counts.get(workload) ?? 0) + 1);
  }
  return [...counts].sort(([a, of], [b, than]) => than - of || compareText(a, b)).map(([workload]) => workload);
}

/** When the last event of the pod was that restarts consolidateAfter (consolidation/last-pod-event). */
function changedAt(pod: Pod): number {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return transitionOf(pod.status?.conditions, isTerminal(pod) ? 'Ready' : 'PodScheduled') ?? Number.NaN;
}

/** `Deployment namespace/name`; a ReplicaSet is named after its Deployment and the hash of the pod template. */
function workloadText(pod: Pod): string {
  const { namespace = 'default', labels } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return `Pod ${fullName(pod)}`;
  const suffix = `-${labels?.['pod-template-hash'] ?? ''}`;
  return kindOf(owner) === 'ReplicaSet.apps' && owner.name.endsWith(suffix)
    ? `Deployment ${namespace}/${owner.name.slice(0, -suffix.length)}`
    : `${owner.kind} ${namespace}/${owner.name}`;
}

/** Why `consolidatableAt` is never, in words. */
function whyNever(view: Pick<NodeView, 'claim' | 'pool'>): string {
  const { claim, pool } = view;
  const noPool = whyNoPool(view);
  if (noPool !== undefined) return noPool;
  if (pool?.spec.replicas !== undefined) return 'its NodePool is static';
  if (pool?.spec.disruption.consolidateAfter === 'Never') return 'its NodePool has consolidateAfter: Never';
  return isTrue(claim.status?.conditions, 'Initialized')
    ? 'its NodeClaim has no valid time from which consolidateAfter counts'
    : 'it is not initialized';
}
