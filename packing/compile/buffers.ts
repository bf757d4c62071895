import type { CapacityBuffer } from '../../api/autoscaling/capacity-buffer.js';
import type { Pod, PodTemplateSpec, Workload } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { parseQuantity, QuantityError } from '../../core/quantities.js';
import { fullName } from '../names.js';
import type { ClusterObjects } from '../types.js';
import { podRequests, QuantityReader } from './pod-requests.js';
import { lookUp } from '../../core/own.js';

const strategy = 'buffer.x-k8s.io/active-capacity';
/** The lowest priority there is. */
const lowestPriority = -2147483648;

/** CapacityBuffers and the objects that they may refer to. */
export type BufferObjects = Pick<
  ClusterObjects,
  'capacityBuffers' | 'deployments' | 'podTemplates' | 'replicaSets' | 'statefulSets'
>;

/** Virtual pending pods for the capacity that buffers keep free (capacity-buffers/stand-in-pods), named after their buffer. */
export function bufferPods(objects: BufferObjects): Pod[] {
  const buffers = [...(objects.capacityBuffers ?? [])].sort((a, b) => compareText(fullName(a), fullName(b)));
  return buffers.flatMap((buffer) => {
    if (!isActive(buffer)) return [];
    const source = sourceOf(objects, buffer);
    if (source === undefined) return [];
    return Array.from({ length: chunks(buffer, source) }, (_, i) => virtualPod(buffer, source.template, i));
  });
}

/** Whether Stowage provisions for the buffer: buffers with another provisioning strategy belong to other controllers. */
export function isActive({ spec, metadata }: CapacityBuffer): boolean {
  return spec.provisioningStrategy === strategy && metadata.deletionTimestamp === undefined;
}

/**
 * Number of virtual pods of a buffer (capacity-buffers/size): the larger of its number and its share of the workload, within its
 * limits. Undefined if an object that it refers to does not exist.
 */
export function bufferSize(objects: BufferObjects, buffer: CapacityBuffer): number | undefined {
  const source = sourceOf(objects, buffer);
  return source === undefined ? undefined : chunks(buffer, source);
}

/** Whether it is a virtual pod of a buffer. */
export function isBufferPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotations.capacityBufferFakePod] === 'true';
}

interface Source {
  readonly template: PodTemplateSpec;
  readonly replicas: number;
}

function sourceOf(objects: BufferObjects, { metadata, spec }: CapacityBuffer): Source | undefined {
  const namespace = metadata.namespace ?? 'default';
  const inNamespace = (each: { metadata: Pod['metadata'] }): boolean =>
    (each.metadata.namespace ?? 'default') === namespace;
  if (spec.podTemplateRef !== undefined) {
    const { name } = spec.podTemplateRef;
    const found = objects.podTemplates?.find((each) => inNamespace(each) && each.metadata.name === name);
    return found === undefined ? undefined : { template: found.template, replicas: 0 };
  }
  const reference = spec.scalableRef;
  if (reference === undefined) return undefined;
  const named = (list: readonly Workload[] | undefined): Workload | undefined =>
    list?.find((each) => inNamespace(each) && each.metadata.name === reference.name);
  const byKind: Readonly<Record<string, () => Workload | undefined>> = {
    ReplicaSet: () => named(objects.replicaSets),
    StatefulSet: () => named(objects.statefulSets),
    Deployment: () => named(objects.deployments) ?? newestReplicaSet(objects, inNamespace, reference.name),
  };
  const found = lookUp(byKind, reference.kind)?.();
  return found === undefined ? undefined : { template: found.spec.template, replicas: found.spec.replicas ?? 1 };
}

/** The current ReplicaSet of a Deployment: the one with most replicas. */
function newestReplicaSet(
  objects: BufferObjects,
  inNamespace: (each: Workload) => boolean,
  deployment: string,
): Workload | undefined {
  const owned = (objects.replicaSets ?? []).filter(
    (each) =>
      inNamespace(each) &&
      each.metadata.ownerReferences?.some(({ kind, name }) => kind === 'Deployment' && name === deployment) === true,
  );
  owned.sort(
    (a, b) =>
      (b.spec.replicas ?? 0) - (a.spec.replicas ?? 0) ||
      compareText(b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''),
  );
  return owned[0];
}

/** Bounds the virtual pods of one buffer, since the API server accepts any number. */
const mostChunks = 10_000;

/** How many chunks: the larger of a number and a share of the workload, as far as the limits go. */
function chunks({ spec }: CapacityBuffer, { template, replicas }: Source): number {
  const fixed = spec.replicas;
  const share = spec.percentage === undefined ? undefined : Math.ceil((replicas * spec.percentage) / 100);
  const limit = limitOf(spec.limits, template);
  const wanted = fixed === undefined && share === undefined ? limit : Math.max(fixed ?? 0, share ?? 0);
  return Math.max(0, Math.min(wanted ?? 0, limit ?? Infinity, mostChunks));
}

function limitOf(limits: Record<string, string> | undefined, template: PodTemplateSpec): number | undefined {
  if (limits === undefined) return undefined;
  try {
    const requests = podRequests(template.spec, new QuantityReader());
    let most = Infinity;
    for (const [name, quantity] of Object.entries(limits)) {
      const each = requests.get(name) ?? 0;
      const allowed = parseQuantity(quantity, name) * (name === 'cpu' ? 1000 : 1);
      if (each > 0) most = Math.min(most, Math.floor(allowed / each + 1e-9));
    }
    return most === Infinity ? undefined : most;
  } catch (error) {
    if (error instanceof QuantityError) return 0;
    throw error;
  }
}

function virtualPod({ metadata }: CapacityBuffer, template: PodTemplateSpec, index: number): Pod {
  const { volumes, ...spec } = template.spec;
  const kept = volumes?.filter(
    ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim === undefined && ephemeral === undefined,
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${metadata.name ?? ''}-buffer-${index}`,
      namespace: metadata.namespace ?? 'default',
      ...(template.metadata?.labels === undefined ? {} : { labels: template.metadata.labels }),
      annotations: { [annotations.capacityBufferFakePod]: 'true' },
    },
    spec: { ...spec, ...(kept === undefined ? {} : { volumes: kept }), priority: lowestPriority },
  };
}
