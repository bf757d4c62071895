import type { Pod, PodDisruptionBudget } from '../api/kubernetes.js';
import { annotations, taints } from '../api/labels.js';
import { parseDuration } from '../core/durations.js';
import { selects } from '../core/label-selector.js';
import { tolerates } from '../packing/compile/tolerations.js';

/** A pod stuck in termination this long past its deletion no longer holds up a drain (termination/drained-pods). */
const stuckTerminatingMs = 60_000;

export function isTerminal({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isOwnedBy({ metadata }: Pod, kind: string): boolean {
  return metadata.ownerReferences?.some((owner) => owner.kind === kind) ?? false;
}

/** A static pod, mirrored by its kubelet: it goes with the node. */
export function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined || isOwnedBy(pod, 'Node');
}

export function toleratesDisruption({ spec }: Pod): boolean {
  return spec.tolerations?.some((toleration) => tolerates(toleration, taints.disrupted)) ?? false;
}

/** Pends without a node that is on its way for it (provisioning/pending-pods). */
export function isProvisionable(pod: Pod): boolean {
  return (pod.status?.nominatedNodeName ?? '') === '' && isPending(pod);
}

/** Pends for lack of a node, whether or not one is on its way for it. */
export function isPending(pod: Pod): boolean {
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') return false;
  if (isTerminal(pod) || isTerminating(pod)) return false;
  if (isOwnedBy(pod, 'DaemonSet') || isOwnedBy(pod, 'Node')) return false;
  return (
    pod.status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false
  );
}

/** Needs another node when its own goes: alive, and not bound to this node by nature. A StatefulSet's comes again. */
export function isReschedulable(pod: Pod): boolean {
  if (isTerminal(pod) || isOwnedBy(pod, 'DaemonSet') || isMirror(pod)) return false;
  return !isTerminating(pod) || isOwnedBy(pod, 'StatefulSet');
}

/** May the eviction API be asked at all (candidates/evictable-pods)? */
export function isEvictable(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod) && !isMirror(pod) && !toleratesDisruption(pod);
}

/** Does a drain wait for it (termination/drained-pods)? `now` in milliseconds of the epoch. */
export function isDrainable(pod: Pod, now: number): boolean {
  if (isTerminal(pod) || isMirror(pod) || toleratesDisruption(pod)) return false;
  const { deletionTimestamp } = pod.metadata;
  return deletionTimestamp === undefined || now - Date.parse(deletionTimestamp) <= stuckTerminatingMs;
}

const defaultGraceSeconds = 30;

/** Milliseconds that a pod has between its deletion and its end. */
export function graceOf({ spec }: Pod): number {
  return (spec.terminationGracePeriodSeconds ?? defaultGraceSeconds) * 1000;
}

/**
 * The pod's own wish not to be disrupted (candidates/do-not-disrupt-pods): `true`, or a duration from its start. Gives until when it holds,
 * infinity for ever, undefined when it does not hold. A value that is neither is ignored. The older `do-not-evict` on
 * pods means the same.
 */
export function doNotDisruptUntil(pod: Pod, now: number): number | undefined {
  if (pod.metadata.annotations?.[annotations.doNotEvict] === 'true') return Number.POSITIVE_INFINITY;
  const value = pod.metadata.annotations?.[annotations.doNotDisrupt];
  if (value === undefined) return undefined;
  if (value === 'true') return Number.POSITIVE_INFINITY;
  const length = positiveDuration(value);
  if (length === undefined) return undefined;
  const started = pod.status?.startTime;
  if (started === undefined) return Number.POSITIVE_INFINITY;
  const until = Date.parse(started) + length;
  return until > now ? until : undefined;
}

/** Whether `karpenter.sh/do-not-disrupt` holds neither `true` nor a duration. */
export function isInvalidDoNotDisrupt(pod: Pod): boolean {
  const value = pod.metadata.annotations?.[annotations.doNotDisrupt];
  return value !== undefined && value !== 'true' && value !== 'false' && positiveDuration(value) === undefined;
}

function positiveDuration(text: string): number | undefined {
  try {
    const length = parseDuration(text);
    return length > 0 ? length : undefined;
  } catch {
    return undefined;
  }
}

/** The budgets that bind an eviction of `pod` now (candidates/pod-disruption-budgets); with AlwaysAllow an unready pod is free. */
export function bindingBudgets(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  return budgets.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      selects(spec.selector, pod.metadata.labels) &&
      (ready || spec.unhealthyPodEvictionPolicy !== 'AlwaysAllow'),
  );
}

/** `namespace/name`. */
export function podKey({ metadata }: Pod): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`;
}
