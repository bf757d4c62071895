import type { Pod, PodTemplateSpec } from '../../../api/kubernetes.js';
import { isBufferPod } from '../../../core/pods.js';
import { bufferOfPod, bufferPods, type BufferObjects } from '../../../packing/compile/buffers.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { buffer, podTemplateRef, objectsOf, scalableRef, one, whole } from './made.js';
import { noCache, provisioning } from './status.js';

const made = (
  spec: object = { podTemplateRef, replicas: 3 },
  template: PodTemplateSpec = { spec: one },
): readonly Pod[] => bufferPods({ ...objectsOf(template, 10), capacityBuffers: [buffer(spec)] });
const pod = (more: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', ...more },
  spec: { containers: [] },
});
const names = (...buffers: readonly (readonly [name: string, namespace?: string])[]): Check =>
  gives(
    () => {
      const namespaces = buffers.map(([, namespace = 'default']) => namespace);
      const podTemplates = namespaces.map((namespace) => ({
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: { name: 'chunk', namespace },
        template: { spec: one },
      }));
      const capacityBuffers = buffers.map(([name, namespace]) =>
        buffer({ podTemplateRef, replicas: 2 }, name, namespace),
      );
      const pods = bufferPods({ podTemplates, capacityBuffers });
      return [
        ...new Set(pods.map(({ metadata }) => bufferOfPod(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`))),
      ];
    },
    buffers.map(([name, namespace = 'default']) => `${namespace}/${name}`).sort(),
  );
const internals = 'lists of pods that Karpenter keeps while it plans';

/** pkg/controllers/provisioning/buffers_test.go */
export const bufferStatusCases: readonly ConformanceCase[] = about('status of capacity buffers', [
  notApplicable([36, 40, 45, 57, 84], 'a pod that is none of a buffer has no buffer', internals),
  same(69, 'a buffer pod names its buffer', names(['spare'])),
  same(
    88,
    'a pod without annotations is none of a buffer',
    gives(() => isBufferPod(pod()), false),
  ),
  same(
    93,
    'a buffer pod is recognised',
    gives(() => made().map(isBufferPod), [true, true, true]),
  ),
  same(
    100,
    'a pod with other annotations is none of a buffer',
    gives(() => isBufferPod(pod({ annotations: { a: 'b' } })), false),
  ),
  same(109, 'pods of buffers with similar names are distinguished', names(['a'], ['a-buffer-1'])),
  same(141, 'buffers with one name in two namespaces are distinguished', names(['a', 'east'], ['a', 'west'])),
  same(
    [170, 256],
    'all pods fit on existing nodes',
    provisioning('True/FitsExistingCapacity', { size: 3 }, { existing: 3, launched: 0 }),
  ),
  same(
    [178, 264],
    'some pods need new nodes',
    provisioning('False/RequiresNewCapacity', { size: 3 }, { existing: 1, launched: 2 }),
  ),
  same(
    186,
    'a buffer without a size',
    provisioning('False/NotReadyForProvisioning', {
      reason: 'PodTemplateNotFound',
      message: '',
    }),
  ),
  same(195, 'a buffer of size 0', provisioning('False/BufferEmpty', { size: 0 })),
  notApplicable(203, 'a buffer that no plan came to', 'deferred pods leave the status as it is'),
  notApplicable(
    [132, 211, 237, 242],
    'virtual pods by node',
    'nodes with virtual pods: activities/provisioning/buffers.test.ts',
  ),
  notApplicable([[274, 366]], 'virtual pods are left out of reports', internals),
]);

const claimed = { persistentVolumeClaim: { claimName: 'data' } };
const volumes = (...given: readonly object[]): Check =>
  gives(() => {
    const template = { spec: { ...one, volumes: given.map((each, i) => ({ name: `v${i}`, ...each })) } };
    return made({ podTemplateRef, replicas: 1 }, template as PodTemplateSpec).map(({ spec }) =>
      spec.volumes?.map(({ name }) => name),
    );
  }, [given.flatMap((each, i) => ('emptyDir' in each ? [`v${i}`] : []))]);
const kept = {
  tolerations: [{ key: 'a', operator: 'Exists' as const }],
  nodeSelector: { disk: 'ssd' },
  affinity: { podAntiAffinity: {} },
};
const count = (size: number, spec: object, objects: BufferObjects = objectsOf({ spec: one }, 10)): Check =>
  gives(() => bufferPods({ ...objects, capacityBuffers: [buffer(spec)] }).length, size);

/** pkg/state/virtualpods/utilities_test.go */
export const virtualPodCases: readonly ConformanceCase[] = about('pods of a capacity buffer', [
  same(
    [33, 260],
    "as many as its size, with the template's labels and no node",
    gives(
      () =>
        made(
          { podTemplateRef, replicas: 2 },
          { metadata: { labels: { app: 'x' } }, spec: { ...one, nodeName: 'n' } },
        ).map(({ metadata, spec }) => [metadata.labels, spec.nodeName, (spec.priority ?? 0) < 0]),
      [
        [{ app: 'x' }, '', true],
        [{ app: 'x' }, '', true],
      ],
    ),
  ),
  same(
    67,
    'are the same each time',
    gives(() => JSON.stringify(made()) === JSON.stringify(made()), true),
  ),
  same([81, 239], 'none for size 0', count(0, { podTemplateRef, replicas: 0 })),
  same(91, 'have no volumes of claims', volumes(claimed, { emptyDir: {} })),
  same(121, 'have no ephemeral volumes', volumes({ ephemeral: {} }, { emptyDir: {} })),
  same(148, 'have neither of these volumes', volumes(claimed, { ephemeral: {} }, { emptyDir: {} })),
  same(
    175,
    'keep affinity and tolerations',
    gives(() => {
      const [first] = made({ podTemplateRef, replicas: 1 }, { spec: { ...one, ...kept } });
      const { tolerations, nodeSelector, affinity } = first!.spec;
      return { tolerations, nodeSelector, affinity };
    }, kept),
  ),
  same(213, 'from a workload', count(2, { scalableRef, replicas: 2 })),
  same(222, 'without a reference', count(0, { replicas: 2 })),
  same(245, 'with a missing reference', count(0, whole, {})),
  same(252, 'from a template', count(1, whole)),
]);

/** pkg/state/virtualpods/virtualpods_test.go */
export const virtualPodCacheCases: readonly ConformanceCase[] = about('pods of capacity buffers', [
  notApplicable([[45, 248]], 'the cache', noCache),
]);
