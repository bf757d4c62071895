import { capacityBuffers, type CapacityBuffer } from '../../../api/autoscaling/capacity-buffer.js';
import type { Container, PodSpec, PodTemplateSpec } from '../../../api/kubernetes.js';
import { resolveBuffer, type BufferObjects } from '../../../packing/compile/buffers.js';
import { gives, type Check } from '../conformance-case.js';

export const container = (requests: Readonly<Record<string, string>> = {}, name = 'c'): Container => ({
  name,
  resources: { requests: { ...requests } },
});
export const sidecar = (requests: Readonly<Record<string, string>>): Container => ({
  ...container(requests, 's'),
  restartPolicy: 'Always',
});
export const cpu = (amount: string): Container => container({ cpu: amount });
export const running = (...containers: readonly Container[]): PodSpec => ({ containers: [...containers] });
export const after = (init: readonly Container[], ...containers: readonly Container[]): PodSpec => ({
  initContainers: [...init],
  containers: [...containers],
});

export const buffer = (spec: object, name = 'b', namespace = 'default'): CapacityBuffer =>
  capacityBuffers.mustParse({
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name, namespace },
    spec,
  });
export const podTemplateRef = { name: 'chunk' };
export const objectsOf = (template: PodTemplateSpec, replicas?: number): BufferObjects => {
  const metadata = { name: 'chunk', namespace: 'default', generation: 2 };
  const workload = { apiVersion: 'apps/v1', metadata, spec: { template, ...(replicas !== undefined && { replicas }) } };
  return {
    podTemplates: [{ apiVersion: 'v1', kind: 'PodTemplate', metadata, template }],
    deployments: [{ ...workload, kind: 'Deployment' }],
    statefulSets: [{ ...workload, kind: 'StatefulSet' }],
  };
};
export const scalableRef = { apiGroup: 'apps', kind: 'Deployment', name: 'chunk' };
export const one = running(cpu('1'));
export const whole = { podTemplateRef, replicas: 1 };

/** How a buffer of a template, or of a workload of ten, is resolved. */
export const resolves = (spec: object, expected: object, template = one, replicas: number | null = 10): Check =>
  gives(() => {
    const resolved = resolveBuffer(objectsOf({ spec: template }, replicas ?? undefined), buffer(spec));
    return 'reason' in resolved ? { reason: resolved.reason } : resolved;
  }, expected);
export const sized = (size: number, spec: object, template = one, replicas: number | null = 10): Check =>
  resolves(spec, { size, ...('podTemplateRef' in spec && { generation: 2 }) }, template, replicas);
export const limited = (size: number, limits: object, template: PodSpec): Check =>
  sized(size, { podTemplateRef, limits }, template);
export const share = (size: number, percentage: number, replicas: number): Check =>
  sized(size, { scalableRef, percentage }, one, replicas);
export const missing = (reason: string): object => ({ reason });
