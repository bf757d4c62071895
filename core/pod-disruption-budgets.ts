import type { Pod, PodDisruptionBudget } from '../api/kubernetes.js';
import { selects } from './labels.js';
import { isEvictable } from './pods.js';
import { fullName, namespaceOf } from './names.js';

/**
 * The PodDisruptionBudgets that apply to an eviction of `pod` now (candidates/pod-disruption-budgets); with AlwaysAllow
 * none applies to an unready pod.
 */
export function bindingBudgets(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  return budgets.filter(
    (budget) =>
      namespaceOf(budget) === namespaceOf(pod) &&
      selects(budget.spec.selector, pod.metadata.labels) &&
      (ready || budget.spec.unhealthyPodEvictionPolicy !== 'AlwaysAllow'),
  );
}

/** Why a pod can never be evicted: a budget must be changed first. */
interface NeverEvictable {
  readonly kind: 'several' | 'never';
  /** `namespace/name` of each budget. */
  readonly budgets: readonly string[];
  /** The cause as text, without the budget's name, so that users know what to change. */
  readonly why: string;
}

/**
 * Whether the budgets from `bindingBudgets` can ever allow an eviction of the pod. Two budgets on one pod never do,
 * since the eviction API refuses that. A single budget never does if it allows no disruption even with all its pods
 * healthy.
 */
export function neverEvictable(binding: readonly PodDisruptionBudget[]): NeverEvictable | undefined {
  const budgets = binding.map(fullName);
  if (binding.length > 1) {
    const why = `${binding.length} PodDisruptionBudgets select the pod, and the eviction API refuses more than one`;
    return { kind: 'several', budgets, why };
  }
  const [only] = binding;
  const why = only === undefined ? undefined : whyNever(only);
  return why === undefined ? undefined : { kind: 'never', budgets, why };
}

/** Why the budget allows no disruption even if all pods that it selects are healthy; undefined if it can allow one. */
function whyNever({ metadata, spec, status }: PodDisruptionBudget): string | undefined {
  const bySpec = whySpecNeverAllows(spec);
  if (bySpec !== undefined) return bySpec;
  const { minAvailable, maxUnavailable } = spec;
  const { expectedPods = 0, desiredHealthy = 0, observedGeneration } = status ?? {};
  const stale = observedGeneration !== undefined && observedGeneration !== metadata.generation;
  if (stale || expectedPods === 0 || desiredHealthy < expectedPods) return undefined;
  const asked = minAvailable === undefined ? `maxUnavailable ${maxUnavailable ?? 0}` : `minAvailable ${minAvailable}`;
  return `${asked} asks that ${desiredHealthy} of ${expectedPods} stay healthy`;
}

/** Why the spec of a PodDisruptionBudget never allows an eviction, in any state of its pods; undefined if it can allow one. */
function whySpecNeverAllows({
  maxUnavailable,
  minAvailable,
}: Pick<PodDisruptionBudget['spec'], 'maxUnavailable' | 'minAvailable'>): string | undefined {
  if (maxUnavailable === 0 || maxUnavailable === '0' || maxUnavailable === '0%') {
    return `maxUnavailable is ${maxUnavailable}`;
  }
  return minAvailable === '100%' ? 'minAvailable is 100%' : undefined;
}

/** A pod of a node that can never be evicted, and why. */
interface UndrainablePod extends NeverEvictable {
  readonly pod: string;
}

/** The pods that would block a drain permanently. `budgets` may be those of all namespaces. */
export function undrainablePods(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): readonly UndrainablePod[] {
  if (budgets.length === 0) return [];
  return pods.filter(isEvictable).flatMap((pod) => {
    const never = neverEvictable(bindingBudgets(pod, budgets));
    return never === undefined ? [] : [{ ...never, pod: fullName(pod) }];
  });
}
