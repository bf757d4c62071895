import type { Pod } from '../api/kubernetes.js';
import { annotations, taints } from '../api/labels.js';
import { parseDuration } from './durations.js';
import { tolerates } from './tolerations.js';

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

/** Of a DaemonSet or a kubelet: no node is ever launched for it, and it needs no other when its own goes. */
export function isNodeBound(pod: Pod): boolean {
  return isOwnedBy(pod, 'DaemonSet') || isMirror(pod);
}

/** Could be given a node: lives, has none, and nothing holds it back; nobody need have tried to schedule it, as with objects from files. */
export function isUnassigned(pod: Pod): boolean {
  if ((pod.spec.nodeName ?? '') !== '' || isTerminal(pod) || isTerminating(pod)) return false;
  return !isNodeBound(pod) && (pod.spec.schedulingGates ?? []).length === 0;
}

export function isNominated({ status }: Pod): boolean {
  return (status?.nominatedNodeName ?? '') !== '';
}

/** Pends for lack of a node, whether or not one is on its way for it. */
export function isPending(pod: Pod): boolean {
  return (
    isUnassigned(pod) &&
    (pod.status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false)
  );
}

/** Pends without a node that is on its way for it (provisioning/pending-pods). */
export function isProvisionable(pod: Pod): boolean {
  return isPending(pod) && !isNominated(pod);
}

/** Needs another node when its own goes: alive, and not bound to this node by nature. A StatefulSet's comes again. */
export function isReschedulable(pod: Pod): boolean {
  if (isTerminal(pod) || isNodeBound(pod)) return false;
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
 * Until when the pod asks not to be disrupted (candidates/do-not-disrupt-pods): `true`, or a duration from its start. Infinity for
 * ever, undefined when it does not hold. A value that is neither is ignored. The older `do-not-evict` on
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

/** `namespace/name`. */
export function podKey({ metadata }: Pod): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`;
}
