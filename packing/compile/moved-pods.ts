import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { controllerOf, kindOf } from '../../core/owners.js';
import { atLeast } from '../../core/pod-resize.js';
import type { ClusterObjects } from '../types.js';
import { namespaceOf, fullName } from '../../core/names.js';

/**
 * A pod as its owner creates it again after a move (scheduling/moved-pods): one that was changed after creation, for
 * example by an in-place resize, is created from its owner's template. Admission may make pods smaller than their
 * template, and will do so again, so the templates of unchanged pods are ignored.
 */
export function comingAgain({
  replicaSets = [],
  statefulSets = [],
  replicationControllers = [],
}: ClusterObjects): (pod: Pod) => Pod {
  let templates: Map<string, PodSpec> | undefined;
  return (pod) => {
    if ((pod.metadata.generation ?? 1) <= 1 || (pod.spec.nodeName ?? '') === '') return pod;
    templates ??= new Map(
      Object.entries({
        'ReplicaSet.apps': replicaSets,
        'StatefulSet.apps': statefulSets,
        ReplicationController: replicationControllers,
      }).flatMap(([kind, owners]) =>
        owners.flatMap(({ metadata, spec }): [string, PodSpec][] =>
          spec.template === undefined ? [] : [[`${kind} ${fullName({ metadata })}`, spec.template.spec]],
        ),
      ),
    );
    const owner = controllerOf(pod);
    const template = owner && templates.get(`${kindOf(owner)} ${namespaceOf(pod)}/${owner.name}`);
    return template === undefined ? pod : atLeast(pod, template);
  };
}
