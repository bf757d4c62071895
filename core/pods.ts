import type { Pod } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';
import { longestDurationMs } from './durations.js';
import { ownerOf, type OwnerKind } from './owners.js';
import { tolerates } from './taints.js';
import { isDeleting } from './names.js';

/** A drain stops waiting for a pod this long after its deletion timestamp (termination/drained-pods). */
const stuckTerminatingMs = 60_000;

export function isTerminal({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Whether it is a virtual pod of a CapacityBuffer (capacity-buffers/stand-in-pods). */
export const isBufferPod = ({ virtual }: Pod): boolean => virtual === true;

export function isOwnedBy(pod: Pod, kind: OwnerKind): boolean {
  return ownerOf(pod, kind) !== undefined;
}

/** Whether it is the mirror of a static pod, which kubelet runs and which ends with the node. */
export function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined || isOwnedBy(pod, 'Node');
}

function toleratesDisruption({ spec }: Pod): boolean {
  return spec.tolerations?.some((toleration) => tolerates(toleration, taints.disrupted)) ?? false;
}

/**
 * Whether a DaemonSet or kubelet ties it to its node: no node is launched for it, neither first nor as a replacement.
 */
export function isNodeBound(pod: Pod): boolean {
  return isOwnedBy(pod, 'DaemonSet.apps') || isMirror(pod);
}

/**
 * Whether it could be scheduled: running or pending, without a node, and without scheduling gates. kube-scheduler may
 * not have tried it yet, as for all pods from files.
 */
export function isUnassigned(pod: Pod): boolean {
  return lacksNode(pod) && (pod.spec.schedulingGates ?? []).length === 0;
}

/** Whether it only waits for its scheduling gates to be removed. */
export function isGated(pod: Pod): boolean {
  return lacksNode(pod) && (pod.spec.schedulingGates ?? []).length > 0;
}

function lacksNode(pod: Pod): boolean {
  return (pod.spec.nodeName ?? '') === '' && !isTerminal(pod) && !isDeleting(pod) && !isNodeBound(pod);
}

export function isNominated({ status }: Pod): boolean {
  return (status?.nominatedNodeName ?? '') !== '';
}

/** Whether kube-scheduler finds it unschedulable, even if a node is being launched for it. */
export function isPending(pod: Pod): boolean {
  return (
    isUnassigned(pod) &&
    (pod.status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false)
  );
}

/** Whether it is pending and no node is being launched for it (provisioning/pending-pods). */
export function isProvisionable(pod: Pod): boolean {
  return isPending(pod) && !isNominated(pod);
}

/**
 * Whether it needs another node if its node is removed. A terminating pod of a StatefulSet does, because it is created
 * again.
 */
export function isReschedulable(pod: Pod): boolean {
  if (isTerminal(pod) || isNodeBound(pod)) return false;
  return !isDeleting(pod) || isOwnedBy(pod, 'StatefulSet.apps');
}

/** Whether a drain calls the eviction API for it (candidates/evictable-pods). */
export function isEvictable(pod: Pod): boolean {
  return !isTerminal(pod) && !isDeleting(pod) && !isMirror(pod) && !toleratesDisruption(pod);
}

/** Whether a drain waits for it (termination/drained-pods). `now` is in milliseconds of the epoch. */
export function isDrainable(pod: Pod, now: number): boolean {
  if (isTerminal(pod) || isMirror(pod) || toleratesDisruption(pod)) return false;
  const { deletionTimestamp } = pod.metadata;
  return deletionTimestamp === undefined || now - Date.parse(deletionTimestamp) <= stuckTerminatingMs;
}

const defaultGraceSeconds = 30;

/**
 * The termination grace period, milliseconds. The API server accepts any number of seconds: it takes a negative one for
 * one second, and more than Go's longest duration would make date arithmetic invalid.
 */
export function graceOf({ spec }: Pod): number {
  const seconds = spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  return seconds < 0 ? 1000 : Math.min(seconds * 1000, longestDurationMs);
}
