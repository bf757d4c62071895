import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { selects } from '../../core/label-selector.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { whySpecNeverAllows } from '../../core/pod-disruption-budgets.js';
import { namespaceOf } from '../names.js';

/**
 * Whether a pod of a deleting node cannot be evicted for now (provisioning/held-back-pods): it has do-not-disrupt, or a
 * PodDisruptionBudget never allows its eviction. A new node for it would stay empty until that changes.
 */
export function isHeldBack(pod: Pod, budgets: readonly PodDisruptionBudget[], now: number): boolean {
  if (doNotDisruptUntil(pod, now) !== undefined) return true;
  const own = budgets.filter(
    (budget) => namespaceOf(budget) === namespaceOf(pod) && selects(budget.spec.selector, pod.metadata.labels),
  );
  return own.length > 1 || own.some(({ spec }) => whySpecNeverAllows(spec) !== undefined);
}
