import type { KubernetesObject, Pod, PodTemplateSpec, ResourceList } from '../../api/kubernetes.js';
import { parseResources } from '../../core/quantities.js';
import { podRequests } from './pods.js';

interface Buffer extends KubernetesObject {
  spec: {
    provisioningStrategy?: string;
    podTemplateRef?: { name: string };
    scalableRef?: { apiGroup?: string; kind: string; name: string };
    replicas?: number;
    percentage?: number;
    limits?: ResourceList;
  };
}

interface Scalable extends KubernetesObject {
  spec: { replicas?: number; template: PodTemplateSpec };
}

interface Template extends KubernetesObject {
  template: PodTemplateSpec;
}

const activeCapacity = 'buffer.x-k8s.io/active-capacity';

/** The virtual pending pods of CapacityBuffers: the larger of number and share, as far as the limits go. */
export function bufferPods(all: (kind: string) => KubernetesObject[]): Pod[] {
  const pods: Pod[] = [];
  for (const buffer of all('CapacityBuffer') as Buffer[]) {
    const { spec, metadata } = buffer;
    const strategy = spec.provisioningStrategy ?? activeCapacity;
    if (strategy !== activeCapacity || metadata.deletionTimestamp !== undefined) continue;
    const same = (object: KubernetesObject, name: string): boolean =>
      object.metadata.name === name && (object.metadata.namespace ?? 'default') === (metadata.namespace ?? 'default');
    const { podTemplateRef: byTemplate, scalableRef: byScale } = spec;
    const foreign = byScale !== undefined && ![undefined, '', 'apps'].includes(byScale.apiGroup);
    const scalable = (byScale === undefined || foreign ? [] : (all(byScale.kind) as Scalable[])).find((each) =>
      same(each, byScale?.name ?? ''),
    );
    const template =
      byTemplate === undefined
        ? scalable?.spec.template
        : (all('PodTemplate') as Template[]).find((each) => same(each, byTemplate.name))?.template;
    if (template === undefined) continue;
    const wanted = countOf(buffer, template, scalable?.spec.replicas ?? 1);
    for (let i = 0; i < wanted; i++) pods.push(standIn(buffer, template, i));
  }
  return pods;
}

function countOf({ spec }: Buffer, template: PodTemplateSpec, replicas: number): number {
  const requests = podRequests(template.spec);
  const allowed = Object.entries(parseResources(spec.limits))
    .filter(([name]) => (requests[name] ?? 0) > 0)
    .map(([name, amount]) => Math.floor(amount / requests[name]!));
  const most = allowed.length === 0 ? undefined : Math.min(...allowed);
  if (spec.replicas === undefined && spec.percentage === undefined) return most ?? 0;
  const share = spec.percentage === undefined ? 0 : Math.ceil((replicas * spec.percentage) / 100);
  return Math.min(Math.max(spec.replicas ?? 0, share), most ?? Infinity);
}

function standIn({ metadata }: Buffer, { metadata: of, spec }: PodTemplateSpec, i: number): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${metadata.name ?? ''}-buffer-${i}`,
      namespace: metadata.namespace ?? 'default',
      ...(of?.labels && { labels: of.labels }),
    },
    virtual: true,
    // Its ephemeral volumes would have to be created for a pod that never runs.
    spec: {
      ...spec,
      nodeName: '',
      volumes: (spec.volumes ?? []).filter((v) => !v.persistentVolumeClaim && !v.ephemeral),
    },
  };
}
