import type { Pod, NodeSelectorTerm, PodDisruptionBudget } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { bindingBudgets, neverEvictable } from '../../core/pod-disruption-budgets.js';
import { isEvictable, isMirror, isNominated, isReschedulable, isTerminal, isUnassigned } from '../../core/pods.js';
import type { PackingInput } from '../types.js';
import type { PodClass } from './classes.js';
import { invalidTerm } from './node-terms.js';
import type { CompiledNode } from './nodes.js';
import type { Volumes } from './volumes.js';
import { isDeleting } from '../../core/names.js';

/**
 * Splits pods into pending ones and running ones by node. Pods of deleting nodes count as pending, except those that
 * are held back: their node stays as long as they do, so they count as running (topology/held-back-pods).
 */
export function splitPods(
  { objects, withoutNodes, now }: PackingInput,
  nodes: readonly CompiledNode[],
): { pending: Pod[]; bound: Map<string, Pod[]>; ignored: Pod[] } {
  const deleting = new Set(nodes.filter((node) => node.deleting).map(({ name }) => name));
  const budgets = objects.podDisruptionBudgets ?? [];
  const pending: Pod[] = [];
  const ignored: Pod[] = [];
  // A pod bound to a missing node affects no topology rules.
  const bound = new Map(nodes.map(({ name }): [string, Pod[]] => [name, []]));
  const staying = new Set<string>();
  const mayMove = (pod: Pod, nodeName: string): boolean =>
    deleting.has(nodeName) && (withoutNodes?.has(nodeName) === true || !isHeldBack(pod, budgets, now));
  for (const pod of objects.pods.filter((each) => !isTerminal(each))) {
    const { nodeName = '' } = pod.spec;
    const isMoved = mayMove(pod, nodeName);
    if (nodeName === '') {
      if (isUnassigned(pod) && !isNominated(pod)) (shunsNodePools(pod) ? ignored : pending).push(pod);
    } else if (isMoved && isReschedulable(pod)) pending.push(pod);
    else {
      bound.get(nodeName)?.push(pod);
      if (!isMoved) staying.add(nodeName);
    }
  }
  for (const name of deleting) if (!staying.has(name)) bound.set(name, []);
  return { pending, bound, ignored };
}

/**
 * Whether a pod of a deleting node cannot be evicted for now (provisioning/held-back-pods): it has do-not-disrupt, or a
 * PodDisruptionBudget never allows its eviction. A new node for it would stay empty until that changes.
 */
function isHeldBack(pod: Pod, budgets: readonly PodDisruptionBudget[], now: number): boolean {
  if (isDeleting(pod) || isMirror(pod)) return false;
  if (doNotDisruptUntil(pod, now) !== undefined) return true;
  return isEvictable(pod) && neverEvictable(bindingBudgets(pod, budgets)) !== undefined;
}

/**
 * Whether all node terms of the pod exclude nodes of NodePools, so that Stowage ignores it (provisioning/pods-of-no-node-pool).
 */
function shunsNodePools({ spec }: Pod): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const shuns = ({ matchExpressions }: NodeSelectorTerm): boolean =>
    matchExpressions?.some(({ key, operator }) => key === labels.nodePool && operator === 'DoesNotExist') === true;
  return terms.length > 0 && terms.every(shuns);
}
export function findInvalid(
  classes: readonly PodClass[],
  volumes: Volumes,
): Map<PodClass, { subject: string; message: string }> {
  const invalid = new Map<PodClass, { subject: string; message: string }>();
  for (const each of classes) {
    const { spec } = each.shape.exemplar;
    if (each.demand.error !== undefined) {
      invalid.set(each, { subject: 'spec.containers.resources', message: each.demand.error });
      continue;
    }
    const wrong = invalidTerm(spec) ?? volumes.needs(each.shape.exemplar).error;
    if (wrong !== undefined) invalid.set(each, wrong);
    else if ((spec.resourceClaims?.length ?? 0) > 0) {
      invalid.set(each, { subject: 'spec.resourceClaims', message: 'dynamic resource allocation is not supported' });
    }
  }
  return invalid;
}
