import type { Pod, NodeSelectorTerm } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { isTerminal, isUnassigned, isNominated, isReschedulable } from '../../core/pods.js';
import type { PackingInput } from '../types.js';
import type { PodClass } from './classes.js';
import { invalidTerm } from './node-terms.js';
import type { CompiledNode } from './nodes.js';
import { isHeldBack } from './pods-of-deleting-nodes.js';
import type { Volumes } from './volumes.js';

/** Splits pods into pending ones and running ones by node. Pods of deleting nodes count as pending. */
export function splitPods(
  { objects, withoutNodes, now }: PackingInput,
  nodes: readonly CompiledNode[],
): { pending: Pod[]; bound: Map<string, Pod[]>; ignored: Pod[] } {
  const deleting = new Set(nodes.filter((node) => node.deleting).map(({ name }) => name));
  const budgets = objects.podDisruptionBudgets ?? [];
  const pending: Pod[] = [];
  const ignored: Pod[] = [];
  // What is bound to a node that does not exist keeps nobody from anywhere.
  const bound = new Map(nodes.map(({ name }): [string, Pod[]] => [name, []]));
  for (const pod of objects.pods) {
    if (isTerminal(pod)) continue;
    const { nodeName = '' } = pod.spec;
    if (nodeName === '') {
      if (isUnassigned(pod) && !isNominated(pod)) (shunsNodePools(pod) ? ignored : pending).push(pod);
    } else if (deleting.has(nodeName)) {
      const goes = withoutNodes?.has(nodeName) === true || !isHeldBack(pod, budgets, now);
      if (goes && isReschedulable(pod)) pending.push(pod);
    } else bound.get(nodeName)?.push(pod);
  }
  return { pending, bound, ignored };
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
