import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { controllerOf, kindOf } from '../../core/owners.js';
import { atLeast } from '../../core/pod-resize.js';
import { fullName, namespaceOf } from '../names.js';
import type { ClusterObjects } from '../types.js';

/**
 * A pod as it comes again elsewhere (scheduling/moved-pods): one that was changed since it was created, as a resize in place does, is created anew from its
 * owner's template. Admission may make pods smaller than that, which it does again, so the templates of other pods do not count.
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
