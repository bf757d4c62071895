import type { PodDisruptionBudget } from '../api/kubernetes.js';

/** Why the spec of a PodDisruptionBudget never allows an eviction, whatever its pods do; undefined if it can allow one. */
export function whySpecNeverAllows({
  maxUnavailable,
  minAvailable,
}: Pick<PodDisruptionBudget['spec'], 'maxUnavailable' | 'minAvailable'>): string | undefined {
  if (maxUnavailable === 0 || maxUnavailable === '0' || maxUnavailable === '0%') {
    return `maxUnavailable is ${maxUnavailable}`;
  }
  return minAvailable === '100%' ? 'minAvailable is 100%' : undefined;
}
