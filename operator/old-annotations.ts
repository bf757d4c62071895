import type { KubernetesObject } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import type { EventToPublish } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { regarding } from '../core/events.js';

const repeatMs = 3_600_000;

const oldNames = [
  { kind: 'Pod', key: annotations.doNotEvict, means: 'the pod is not evicted and its node not disrupted' },
  { kind: 'Node', key: annotations.doNotConsolidate, means: 'the node is not consolidated' },
] as const;

/** Says of pods and nodes that bear an annotation of before v1beta1 what to write instead; it is honoured all the same. */
export function watchOldAnnotations({ cache, events }: OperatorContext): () => void {
  const stops = oldNames.map(({ kind, key, means }) => {
    const look = (object: KubernetesObject, previous?: KubernetesObject): void => {
      if (object.metadata.annotations?.[key] !== 'true' || previous?.metadata.annotations?.[key] === 'true') return;
      events.publish(deprecation(kind, object, `${key} is out of use: ${means} as before`));
    };
    return cache.onEach(kind, ({ type, object, previous }) => {
      if (type !== 'deleted') look(object, previous);
    });
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/** Pods of one owner are told of once. */
function deprecation(kind: 'Pod' | 'Node', { metadata }: KubernetesObject, message: string): EventToPublish {
  const { name = '', namespace, uid, ownerReferences } = metadata;
  return {
    regarding: regarding(kind, { name, namespace, uid }),
    type: 'Warning',
    reason: 'DeprecatedAnnotation',
    message: `${message}; write ${annotations.doNotDisrupt}: "true" instead`,
    dedupeBy: [kind, ownerReferences?.[0]?.uid ?? uid ?? name],
    dedupeMs: repeatMs,
  };
}
