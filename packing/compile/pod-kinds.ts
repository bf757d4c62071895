import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { isEqual, isSameDemand } from './pod-key.js';
import { namespaceOf, fullName } from '../../core/names.js';

/** Pods with adjacent names and equal cost. */
export interface PodKind {
  readonly namespace: string;
  readonly pods: Pod[];
  readonly terms: number;
}

/** `termsOf`: the cost of one pod, which is counted once for all equal ones. */
export function kindsOf(pods: readonly Pod[], termsOf: (pod: Pod) => number): PodKind[] {
  const kinds: PodKind[] = [];
  const named = pods.map((pod) => ({ pod, name: fullName(pod) })).sort((a, b) => compareText(a.name, b.name));
  for (const { pod } of named) {
    const last = kinds.at(-1);
    if (last !== undefined && isAlike(pod, last.pods[0]!)) last.pods.push(pod);
    else kinds.push({ namespace: namespaceOf(pod), pods: [pod], terms: termsOf(pod) });
  }
  return kinds;
}

/** Whether both pods have the same constraints, except for labels that differ within a StatefulSet or Job. */
const isAlike = (a: Pod, b: Pod): boolean =>
  a.metadata.namespace === b.metadata.namespace &&
  isEqual(a.spec.affinity, b.spec.affinity) &&
  isEqual(a.spec.topologySpreadConstraints, b.spec.topologySpreadConstraints) &&
  isEqual(a.spec.nodeSelector, b.spec.nodeSelector) &&
  isEqual(a.spec.tolerations, b.spec.tolerations) &&
  isSameDemand(a, b) &&
  isEqual(sharedLabels(a), sharedLabels(b));

const labelsOfOnePod: ReadonlySet<string> = new Set([
  'statefulset.kubernetes.io/pod-name',
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/job-completion-index',
]);

const sharedLabels = ({ metadata }: Pod): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !labelsOfOnePod.has(key)));
