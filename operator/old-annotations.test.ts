import { expect, test } from '@jest/globals';
import type { KubernetesObject } from '../api/kubernetes.js';
import type { EventToPublish } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { watchOldAnnotations } from './old-annotations.js';

test('pods and nodes with old annotations get an event with the new one, pods of one owner once', () => {
  const object = (kind: string, name: string, annotation: Record<string, string>, owner?: string): KubernetesObject =>
    ({
      apiVersion: 'v1',
      kind,
      metadata: { name, uid: name, annotations: annotation, ...(owner && { ownerReferences: [{ uid: owner }] }) },
    }) as KubernetesObject;
  const old = { 'karpenter.sh/do-not-evict': 'true' };
  const listeners = new Map<string, (change: object) => void>();
  const published: EventToPublish[] = [];
  const objects: Record<string, KubernetesObject[]> = {
    Pod: [object('Pod', 'a', old, 'set'), object('Pod', 'b', old, 'set'), object('Pod', 'c', {})],
    Node: [object('Node', 'n', { 'karpenter.sh/do-not-consolidate': 'false' })],
  };
  const context = {
    cache: {
      onEach: (kind: string, listener: (change: object) => void) => {
        listeners.set(kind, listener);
        for (const present of objects[kind] ?? []) listener({ type: 'added', object: present });
        return () => listeners.delete(kind);
      },
    },
    events: { publish: (event: EventToPublish) => published.push(event) },
  } as unknown as OperatorContext;

  const stop = watchOldAnnotations(context);
  const marked = object('Node', 'n', { 'karpenter.sh/do-not-consolidate': 'true' });
  listeners.get('Node')!({ type: 'modified', object: marked, previous: objects['Node']![0] });
  listeners.get('Node')!({ type: 'modified', object: marked, previous: marked });

  expect(published.map(({ regarding, reason, dedupeBy }) => [regarding.name, reason, dedupeBy])).toEqual([
    ['a', 'DeprecatedAnnotation', ['Pod', 'set']],
    ['b', 'DeprecatedAnnotation', ['Pod', 'set']],
    ['n', 'DeprecatedAnnotation', ['Node', 'n']],
  ]);
  expect(published[0]?.message).toContain('write karpenter.sh/do-not-disrupt: "true" instead');
  stop();
  expect(listeners.size).toBe(0);
});
