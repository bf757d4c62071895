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

/**
 * Publishes an event on pods and nodes with an annotation from before v1beta1, naming its replacement; the old one
 * still works.
 */
export function watchOldAnnotations({ cache, events }: OperatorContext): () => void {
  const stops = oldNames.map(({ kind, key, means }) => {
    const look = (object: KubernetesObject, previous?: KubernetesObject): void => {
      if (object.metadata.annotations?.[key] !== 'true' || previous?.metadata.annotations?.[key] === 'true') return;
      events.publish(deprecation(kind, object, `${key} is deprecated: ${means} as before`));
    };
    return cache.onEach(kind, ({ type, object, previous }) => {
      if (type !== 'deleted') look(object, previous);
    });
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/** One event for all pods of one owner. */
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
