import type { CapacityBuffer } from '../../api/autoscaling/capacity-buffer.js';
import type { Pod, PodTemplateSpec, Workload } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { ownerOf } from '../../core/owners.js';
import { parseQuantity, QuantityError } from '../../core/quantities.js';
import type { ClusterObjects } from '../types.js';
import { podRequests, QuantityReader } from './pod-requests.js';
import { fullName } from '../../core/names.js';

const strategy = 'buffer.x-k8s.io/active-capacity';
/** The lowest possible priority. */
const lowestPriority = -2147483648;

/** CapacityBuffers and the objects they may refer to. */
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
    if ('reason' in source) return [];
    return Array.from({ length: chunks(buffer, source) }, (_, i) => virtualPod(buffer, source.template, i));
  });
}

/** Whether Stowage provisions for the buffer: buffers with another provisioning strategy belong to other controllers. */
export function isActive({ spec, metadata }: CapacityBuffer): boolean {
  return spec.provisioningStrategy === strategy && metadata.deletionTimestamp === undefined;
}

/** Why a buffer cannot be resolved: Karpenter's reason, and a message. */
export interface Unresolved {
  readonly reason: 'PodTemplateNotFound' | 'ScalableRefNotFound' | 'ResolutionFailed';
  readonly message: string;
}

/** A resolved buffer. */
export interface Resolved {
  /**
   * Number of virtual pods (capacity-buffers/size): the larger of its number and its percentage of the workload, within
   * its limits.
   */
  readonly size: number;
  /** Generation of its PodTemplate. */
  readonly generation?: number;
}

/** The size of a buffer, or why it cannot be resolved (capacity-buffers/status). */
export function resolveBuffer(objects: BufferObjects, buffer: CapacityBuffer): Resolved | Unresolved {
  const source = sourceOf(objects, buffer);
  if ('reason' in source) return source;
  const { generation } = source;
  return { size: chunks(buffer, source), ...(generation !== undefined && { generation }) };
}

/** The buffer (`namespace/name`) of a virtual pod with this key; meaningless for other pods. */
export function bufferOfPod(pod: string): string {
  return pod.replace(/-buffer-\d+$/, '');
}

interface Source {
  readonly template: PodTemplateSpec;
  readonly replicas: number;
  readonly generation?: number | undefined;
}

function sourceOf(objects: BufferObjects, { metadata, spec }: CapacityBuffer): Source | Unresolved {
  const namespace = metadata.namespace ?? 'default';
  const inNamespace = (each: { metadata: Pod['metadata'] }): boolean =>
    (each.metadata.namespace ?? 'default') === namespace;
  if (spec.podTemplateRef !== undefined) {
    const { name } = spec.podTemplateRef;
    const found = objects.podTemplates?.find((each) => inNamespace(each) && each.metadata.name === name);
    if (found !== undefined) return { template: found.template, replicas: 0, generation: found.metadata.generation };
    return { reason: 'PodTemplateNotFound', message: `there is no PodTemplate ${namespace}/${name}` };
  }
  if (spec.scalableRef !== undefined) return workloadOf(objects, inNamespace, spec.scalableRef);
  return { reason: 'ResolutionFailed', message: 'neither podTemplateRef nor scalableRef is set' };
}

const kinds = ['Deployment', 'ReplicaSet', 'StatefulSet'] as const;

function workloadOf(
  objects: BufferObjects,
  inNamespace: (each: Workload) => boolean,
  { apiGroup = '', kind, name }: NonNullable<CapacityBuffer['spec']['scalableRef']>,
): Source | Unresolved {
  const named = (list: readonly Workload[] | undefined): Workload | undefined =>
    list?.find((each) => inNamespace(each) && each.metadata.name === name);
  const byKind: Readonly<Record<(typeof kinds)[number], () => Workload | undefined>> = {
    ReplicaSet: () => named(objects.replicaSets),
    StatefulSet: () => named(objects.statefulSets),
    Deployment: () => named(objects.deployments) ?? newestReplicaSet(objects, inNamespace, name),
  };
  const known = kinds.find((each) => each === kind);
  if (known === undefined || (apiGroup !== '' && apiGroup !== 'apps')) {
    const message = `scalableRef: found ${kind} of group "${apiGroup}", allowed: ${kinds.join(', ')} of group apps`;
    return { reason: 'ResolutionFailed', message };
  }
  const found = byKind[known]();
  if (found === undefined) return { reason: 'ScalableRefNotFound', message: `there is no ${kind} ${name}` };
  return { template: found.spec.template, replicas: found.spec.replicas ?? 1 };
}

/** The current ReplicaSet of a Deployment: the one with most replicas. */
function newestReplicaSet(
  objects: BufferObjects,
  inNamespace: (each: Workload) => boolean,
  deployment: string,
): Workload | undefined {
  const owned = (objects.replicaSets ?? []).filter(
    (each) => inNamespace(each) && ownerOf(each, 'Deployment.apps')?.name === deployment,
  );
  owned.sort(
    (a, b) =>
      (b.spec.replicas ?? 0) - (a.spec.replicas ?? 0) ||
      compareText(b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''),
  );
  return owned[0];
}

/** Limits the virtual pods of one buffer, since the API server accepts any number. */
const mostChunks = 10_000;

/** Number of chunks: the larger of a number and a percentage of the workload, within the limits. */
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
    },
    virtual: true,
    // A template with a node name would make the pod count as bound.
    spec: { ...spec, nodeName: '', ...(kept === undefined ? {} : { volumes: kept }), priority: lowestPriority },
  };
}
