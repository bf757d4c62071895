import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { parseDuration } from '../../core/durations.js';
import { selects } from '../../core/label-selector.js';
import { namespaceOf } from '../names.js';
import { isNodeBound } from './pod-requests.js';

/** Whether the pod needs another node when its own goes: a StatefulSet's comes again under its name, others that end do not. */
export function isReschedulable(pod: Pod): boolean {
  if (isNodeBound(pod)) return false;
  if (pod.metadata.deletionTimestamp === undefined) return true;
  return pod.metadata.ownerReferences?.some(({ kind }) => kind === 'StatefulSet') === true;
}

/**
 * Whether a pod of a node that is being deleted stays where it is for now (provisioning/held-back-pods): it must not be disrupted, or the
 * budgets that select it allow no eviction ever. A node for it would stand empty until somebody changes that.
 */
export function isHeldBack(pod: Pod, budgets: readonly PodDisruptionBudget[], now: number): boolean {
  if (mustNotBeDisrupted(pod, now)) return true;
  const own = budgets.filter(
    (budget) => namespaceOf(budget) === namespaceOf(pod) && selects(budget.spec.selector, pod.metadata.labels),
  );
  return own.length > 1 || own.some(({ spec }) => isNone(spec.maxUnavailable) || spec.minAvailable === '100%');
}

const isNone = (amount: number | string | undefined): boolean => amount === 0 || amount === '0' || amount === '0%';

/** `true`, or a duration since its start that is not over; a value that is neither is ignored (candidates/do-not-disrupt-pods). */
function mustNotBeDisrupted({ metadata, status }: Pod, now: number): boolean {
  if (metadata.annotations?.[annotations.doNotEvict] === 'true') return true;
  const value = metadata.annotations?.[annotations.doNotDisrupt];
  if (value === undefined || value === 'true') return value === 'true';
  const length = milliseconds(value);
  if (length === undefined || length <= 0) return false;
  return status?.startTime === undefined || Date.parse(status.startTime) + length > now;
}

function milliseconds(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}
