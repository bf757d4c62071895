import type { LabelSelector, LabelSelectorRequirement, PodAffinityTerm } from '../../../api/kubernetes.js';
import type { Cluster } from '../cluster.js';
import type { FinalNode, Placement } from '../placement.js';
import type { PodClass } from '../pods.js';
import { selectorMatches } from '../selectors.js';

export interface Spot {
  readonly node: FinalNode;
  /** Without those that are terminating. */
  readonly running: number;
  readonly placed: number;
}

/** Where the pods of each class are in the end. */
export function spotsByClass(placement: Placement): ReadonlyMap<PodClass, readonly Spot[]> {
  const spots = new Map<PodClass, Spot[]>();
  for (const node of countedNodes(placement)) {
    for (const podClass of new Set([...node.running.keys(), ...node.placed.keys()])) {
      const spot = { node, running: runningOn(node, podClass), placed: node.placed.get(podClass) ?? 0 };
      const known = spots.get(podClass);
      if (known === undefined) spots.set(podClass, [spot]);
      else known.push(spot);
    }
  }
  return spots;
}

/** The nodes whose pods rules of topology count. */
export const countedNodes = ({ nodes, draining }: Placement): readonly FinalNode[] => [...nodes, ...draining];

/** Pods of the class that run on the node and that rules of topology count. */
export function runningOn({ running, terminating }: FinalNode, podClass: PodClass): number {
  return (running.get(podClass) ?? 0) - (terminating.get(podClass) ?? 0);
}

/** `matchLabelKeys` and `mismatchLabelKeys` folded into the selector, as the API server and the scheduler do. */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
  match: readonly string[] | undefined,
  mismatch: readonly string[] | undefined,
): LabelSelector | undefined {
  if (selector === undefined) return undefined;
  const extra: LabelSelectorRequirement[] = [];
  for (const [operator, keys] of [
    ['In', match ?? []],
    ['NotIn', mismatch ?? []],
  ] as const) {
    for (const key of keys) {
      const value = labels[key];
      if (value !== undefined) extra.push({ key, operator, values: [value] });
    }
  }
  return extra.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...extra] };
}

/** Whether a pod affinity term of `owner` selects pods of the class `other`. */
export function termSelects(cluster: Cluster, term: PodAffinityTerm, owner: PodClass, other: PodClass): boolean {
  const selector = withLabelKeys(term.labelSelector, owner.labels, term.matchLabelKeys, term.mismatchLabelKeys);
  return inNamespaces(cluster, term, owner, other.namespace) && selectorMatches(selector, other.labels);
}

function inNamespaces(cluster: Cluster, term: PodAffinityTerm, owner: PodClass, namespace: string): boolean {
  const listed = term.namespaces ?? [];
  if (listed.length === 0 && term.namespaceSelector === undefined) return namespace === owner.namespace;
  if (listed.includes(namespace)) return true;
  if (term.namespaceSelector === undefined) return false;
  const labels = cluster.namespaces.get(namespace)?.metadata.labels ?? {};
  return selectorMatches(term.namespaceSelector, { 'kubernetes.io/metadata.name': namespace, ...labels });
}
