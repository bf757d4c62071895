import type { Condition, Container, Pod, PodSpec, PodTemplateSpec, PodVolume } from '../api/kubernetes.js';
import { hostPortOf } from '../core/host-ports.js';
import { withResizedRequests } from '../core/pod-resize.js';
import type { Interner } from './intern.js';
import { copyFields, slimMetadata } from './slim-metadata.js';

/**
 * Pods in the cache: the fields that scheduling, draining and disruption read.
 *
 * Sharing: within one cache, two pods have the same `spec.containers` array if and only if the rest of their specs
 * except `nodeName` is equal too. So values that depend only on the spec can be cached by that array. Pods without a
 * node share the whole `spec`. Equal label and annotation maps are one object too.
 */
export function slimPod(pod: Pod, interner: Interner): Pod {
  const { nodeName } = pod.spec;
  const shared = interner.share(slimSpec(withResizedRequests(pod).spec), ({ containers }) => containers);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: slimMetadata('Pod', pod.metadata, interner),
    spec: nodeName === undefined || nodeName === '' ? shared : { ...shared, nodeName: interner.text(nodeName) },
    ...(pod.status === undefined ? {} : { status: slimStatus(pod.status, interner) }),
  };
}

/** A pod template; equal templates are one object. */
export function slimTemplate(template: PodTemplateSpec, interner: Interner): PodTemplateSpec {
  const { labels, annotations } = slimMetadata('Pod', template.metadata ?? {}, interner);
  return interner.share({
    metadata: { ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) },
    spec: slimSpec(template.spec),
  });
}

const specFields = [
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'overhead',
  'resources',
  'resourceClaims',
  'priority',
  'priorityClassName',
  'preemptionPolicy',
  'schedulingGates',
  'schedulerName',
  'hostNetwork',
  'terminationGracePeriodSeconds',
] as const satisfies readonly (keyof PodSpec)[];

/** Everything except `nodeName`; copies only what changes. */
function slimSpec(spec: PodSpec): PodSpec {
  const slim: PodSpec = {
    containers: spec.containers.map((container) => slimContainer(container, spec.hostNetwork)),
    ...copyFields(spec, specFields),
  };
  if (spec.initContainers !== undefined) {
    slim.initContainers = spec.initContainers.map((container) => slimContainer(container, spec.hostNetwork));
  }
  const volumes = (spec.volumes ?? []).flatMap((volume) => slimVolume(volume));
  if (volumes.length > 0) slim.volumes = volumes;
  return slim;
}

/** Only host ports are kept of the ports, because only they restrict where a pod can run. */
function slimContainer(container: Container, hostNetwork: boolean | undefined): Container {
  const slim: Container = { name: container.name, ...copyFields(container, ['resources', 'restartPolicy']) };
  const ports: NonNullable<Container['ports']> = [];
  for (const port of container.ports ?? []) {
    const hostPort = hostPortOf(port, hostNetwork);
    if (hostPort !== undefined) ports.push({ ...copyFields(port, ['hostIP', 'protocol']), hostPort });
  }
  if (ports.length > 0) slim.ports = ports;
  return slim;
}

/** Only volumes that tie a pod to a place; projected ones, whose names differ between pods, are dropped. */
function slimVolume(volume: PodVolume): PodVolume[] {
  const { name, persistentVolumeClaim: claim, ephemeral, csi } = volume;
  if (claim !== undefined) return [{ name, persistentVolumeClaim: { claimName: claim.claimName } }];
  if (ephemeral !== undefined) return [{ name, ephemeral }];
  if (csi !== undefined) return [{ name, csi: { driver: csi.driver } }];
  return [];
}

/** PodScheduled triggers provisioning; Ready is needed for PodDisruptionBudgets and start-up times. */
const conditionTypes = new Set(['PodScheduled', 'Ready']);

function slimStatus(status: Pod['status'] & object, interner: Interner): Pod['status'] {
  const conditions = status.conditions?.filter(({ type }) => conditionTypes.has(type));
  return {
    ...copyFields(status, ['phase', 'nominatedNodeName', 'startTime', 'reason']),
    ...(conditions === undefined ? {} : { conditions: conditions.map((entry) => slimCondition(entry, interner)) }),
  };
}

/** Conditions without their messages; equal ones are shared. */
export function slimCondition(condition: Condition, interner: Interner): Condition {
  return interner.share(
    copyFields(condition, ['type', 'status', 'reason', 'lastTransitionTime', 'observedGeneration']),
  );
}
