import type { Pod } from '../../../api/kubernetes.js';

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

/**
 * The pods that would have to go from a node for the pod to get in (kube-scheduler's DefaultPreemption): of lower priority, and no more than it takes;
 * of two that could stay the more important one does. Undefined where nothing would go, or that would not help. `isLetIn` says whether the
 * pod gets in once these are gone.
 */
export function victimsOf(
  pod: Pod,
  there: readonly Pod[],
  isLetIn: (gone: ReadonlySet<Pod>) => boolean,
): readonly Pod[] | undefined {
  const lower = there.filter((other) => priorityOf(other) < priorityOf(pod));
  const gone = new Set(lower);
  if (lower.length === 0 || !isLetIn(gone)) return undefined;
  for (const other of [...lower].sort((a, b) => priorityOf(b) - priorityOf(a))) {
    gone.delete(other);
    if (!isLetIn(gone)) gone.add(other);
  }
  return [...gone];
}
