import type { Pod } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { isReschedulable } from '../../core/pods.js';

/** What it costs to evict one pod (disruption-cost/of-a-pod): 1 for an ordinary one, between -10 and 10. */
export function evictionCost({ metadata, spec }: Pod): number {
  const deletionCost = Number(metadata.annotations?.[annotations.podDeletionCost] ?? 0);
  const cost = 1 + (Number.isFinite(deletionCost) ? deletionCost : 0) / 2 ** 27 + (spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}

/** What it costs to disrupt a node (disruption-cost/of-a-node): 1 for an empty one. Pods of negative cost count as nothing. */
export function disruptionCost(pods: readonly Pod[]): number {
  let cost = 1;
  for (const pod of pods) if (isReschedulable(pod)) cost += Math.max(0, evictionCost(pod));
  return cost;
}
