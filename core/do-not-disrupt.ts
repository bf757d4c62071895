import type { Node, Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { parseDuration } from './durations.js';
import { isTerminal } from './pods.js';
import { isDeleting } from './names.js';

/** Whether annotation `karpenter.sh/do-not-disrupt` protects the node. On nodes only `true` counts, without a duration. */
export function isNodeMarkedDoNotDisrupt(node: Pick<Node, 'metadata'> | undefined): boolean {
  return node?.metadata.annotations?.[annotations.doNotDisrupt] === 'true';
}

/**
 * Until when annotation `karpenter.sh/do-not-disrupt` protects the pod (candidates/do-not-disrupt-pods): `true`
 * protects it without end, a duration counts from the start of the pod. Milliseconds since the epoch; infinity without
 * end, undefined if the pod is not protected now. Other values are ignored. The older annotation `do-not-evict` is
 * equivalent to `true`.
 */
export function doNotDisruptUntil(pod: Pod, now: number): number | undefined {
  if (pod.metadata.annotations?.[annotations.doNotEvict] === 'true') return Number.POSITIVE_INFINITY;
  const value = pod.metadata.annotations?.[annotations.doNotDisrupt];
  if (value === undefined) return undefined;
  if (value === 'true') return Number.POSITIVE_INFINITY;
  const length = positiveDuration(value);
  if (length === undefined) return undefined;
  const started = pod.status?.startTime;
  // A pod that has not started has its whole duration ahead.
  if (started === undefined) return Number.POSITIVE_INFINITY;
  const until = Date.parse(started) + length;
  return until > now ? until : undefined;
}

/** The first pod that protects its node from disruption now. Pods that have ended or are being deleted do not. */
export function podMarkedDoNotDisrupt(pods: readonly Pod[], now: number): Pod | undefined {
  return pods.find((pod) => !isTerminal(pod) && !isDeleting(pod) && doNotDisruptUntil(pod, now) !== undefined);
}

/** Whether the pod has the annotation with a value that is neither a boolean nor a positive duration. */
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
