import type {
  Condition,
  Container,
  CSINode,
  DaemonSet,
  Namespace,
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  PodTemplate,
  PodTemplateSpec,
  PodVolume,
  ReplicationController,
  Service,
  StorageClass,
  VolumeAttachment,
  Workload,
} from '../api/kubernetes.js';
import type { Interner } from './intern.js';
import { resources } from './kinds.js';
import type { Kind, Kinds } from './port.js';
import { hostPortOf } from '../core/host-ports.js';
import { withResizedRequests } from '../core/pod-resize.js';

/** A new object with those of `fields` that are set. */
function copyFields<T extends object, F extends keyof T>(from: T, fields: readonly F[]): Pick<T, F> {
  const copy: Partial<Pick<T, F>> = {};
  for (const field of fields) if (from[field] !== undefined) copy[field] = from[field];
  return copy as Pick<T, F>;
}

/** Annotations of other API groups that Stowage reads. */
const readAnnotations = new Set([
  'controller.kubernetes.io/pod-deletion-cost',
  'kubernetes.io/config.mirror',
  'kubernetes.io/config.source',
  'pv.kubernetes.io/bind-completed',
  'volume.kubernetes.io/selected-node',
  'volume.beta.kubernetes.io/storage-class',
  'storageclass.kubernetes.io/is-default-class',
]);
const ownGroup = /(^|\.)(karpenter\.sh|karpenter\.k8s\.aws|karpenter\.kwok\.sh|stowage\.dev)\//;

/** Nodes and Stowage's kinds keep every annotation that users set: registration copies them. */
const keepsAnnotations: ReadonlySet<Kind> = new Set<Kind>([
  'Node',
  'NodePool',
  'NodeClaim',
  'NodeOverlay',
  'EC2NodeClass',
  'KWOKNodeClass',
  'DisruptionPolicy',
  'DisruptionPause',
  'CapacityBuffer',
]);
const neverKept = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'csi.volume.kubernetes.io/nodeid',
  'node.alpha.kubernetes.io/ttl',
]);

/** Metadata without managed fields and unused annotations; equal label maps are one object. */
function slimMetadata(kind: Kind, metadata: ObjectMeta, interner: Interner): ObjectMeta {
  const slim: ObjectMeta = copyFields(metadata, [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'finalizers',
  ]);
  // For pods, kept only if they were changed after creation.
  if ((metadata.generation ?? 0) > (kind === 'Pod' ? 1 : 0)) slim.generation = metadata.generation;
  if (slim.namespace !== undefined) slim.namespace = interner.text(slim.namespace);
  if (slim.creationTimestamp !== undefined) slim.creationTimestamp = interner.text(slim.creationTimestamp);
  if (metadata.labels !== undefined) slim.labels = interner.share(metadata.labels);
  if (metadata.ownerReferences !== undefined) slim.ownerReferences = interner.share(metadata.ownerReferences);
  if (slim.finalizers !== undefined) slim.finalizers = interner.share(slim.finalizers);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => isRead(kind, key));
  if (annotations.length > 0) slim.annotations = interner.share(Object.fromEntries(annotations));
  return slim;
}

function isRead(kind: Kind, annotation: string): boolean {
  if (keepsAnnotations.has(kind)) return !neverKept.has(annotation);
  return ownGroup.test(annotation) || readAnnotations.has(annotation);
}

/**
 * Pods in the cache: the fields that scheduling, draining and disruption read.
 *
 * Sharing: within one cache, two pods have the same `spec.containers` array if and only if the rest of their specs
 * except `nodeName` is equal too. So values that depend only on the spec can be cached by that array. Pods without a
 * node share the whole `spec`. Equal label and annotation maps are one object too.
 */
function slimPod(pod: Pod, interner: Interner): Pod {
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
function slimTemplate(template: PodTemplateSpec, interner: Interner): PodTemplateSpec {
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
function slimCondition(condition: Condition, interner: Interner): Condition {
  return interner.share(
    copyFields(condition, ['type', 'status', 'reason', 'lastTransitionTime', 'observedGeneration']),
  );
}

type Slimmer<T> = (object: T, interner: Interner) => Omit<T, 'apiVersion' | 'kind' | 'metadata'>;

/** By kind: what is kept in addition to metadata. Kinds not listed (Stowage's) are kept whole. */
const slimmers: { readonly [K in Kind]?: Slimmer<Kinds[K]> } = {
  Node: slimNode,
  Namespace: ({ status }: Namespace) => (status === undefined ? {} : { status: copyFields(status, ['phase']) }),
  DaemonSet: ({ spec }: DaemonSet, interner) => ({
    spec: { selector: interner.share(spec.selector), template: slimTemplate(spec.template, interner) },
  }),
  Deployment: slimWorkload,
  ReplicaSet: slimWorkload,
  StatefulSet: slimWorkload,
  ReplicationController: ({ spec }: ReplicationController, interner) => ({
    spec: {
      ...copyFields(spec, ['replicas', 'selector']),
      ...(spec.template === undefined ? {} : { template: slimTemplate(spec.template, interner) }),
    },
  }),
  PodTemplate: ({ template }: PodTemplate, interner) => ({ template: slimTemplate(template, interner) }),
  Service: ({ spec }: Service) => ({ spec: copyFields(spec, ['selector']) }),
  PodDisruptionBudget: ({ spec, status }: PodDisruptionBudget) => ({
    spec: copyFields(spec, ['selector', 'minAvailable', 'maxUnavailable', 'unhealthyPodEvictionPolicy']),
    ...(status === undefined
      ? {}
      : {
          status: copyFields(status, [
            'disruptionsAllowed',
            'currentHealthy',
            'desiredHealthy',
            'expectedPods',
            'observedGeneration',
          ]),
        }),
  }),
  PersistentVolumeClaim: ({ spec, status }: PersistentVolumeClaim) => ({
    spec: copyFields(spec, ['storageClassName', 'volumeName', 'volumeMode', 'accessModes', 'resources', 'selector']),
    ...(status === undefined ? {} : { status: copyFields(status, ['phase']) }),
  }),
  PersistentVolume: ({ spec, status }: PersistentVolume) => ({
    spec: {
      ...copyFields(spec, [
        'nodeAffinity',
        'local',
        'hostPath',
        'awsElasticBlockStore',
        'gcePersistentDisk',
        'azureDisk',
        'storageClassName',
        'capacity',
        'accessModes',
        'volumeMode',
      ]),
      ...(spec.claimRef === undefined ? {} : { claimRef: copyFields(spec.claimRef, ['namespace', 'name']) }),
      ...(spec.csi === undefined ? {} : { csi: copyFields(spec.csi, ['driver', 'volumeHandle']) }),
    },
    ...(status === undefined ? {} : { status: copyFields(status, ['phase']) }),
  }),
  StorageClass: (object: StorageClass) => copyFields(object, ['provisioner', 'volumeBindingMode', 'allowedTopologies']),
  CSINode: ({ spec }: CSINode) => ({ spec }),
  VolumeAttachment: ({ spec, status }: VolumeAttachment) => ({
    spec: { ...copyFields(spec, ['attacher', 'nodeName']), source: copyFields(spec.source, ['persistentVolumeName']) },
    ...(status === undefined ? {} : { status: copyFields(status, ['attached']) }),
  }),
};

/** A new object with the kept fields of `object`; equal parts are shared. */
export function slim<K extends Kind>(kind: K, object: Kinds[K], interner: Interner): Kinds[K] {
  if (kind === 'Pod') return slimPod(object as Kinds['Pod'], interner) as Kinds[K];
  const slimmer: Slimmer<Kinds[K]> = slimmers[kind] ?? ((whole) => whole);
  const metadata = slimMetadata(kind, object.metadata, interner);
  return {
    ...slimmer(object, interner),
    apiVersion: resources[kind].apiVersion,
    kind,
    metadata,
  } as unknown as Kinds[K];
}

function slimNode({ spec, status }: Node, interner: Interner): Pick<Node, 'spec' | 'status'> {
  return {
    ...(spec === undefined ? {} : { spec: copyFields(spec, ['providerID', 'taints', 'unschedulable']) }),
    ...(status === undefined
      ? {}
      : {
          status: {
            ...(status.capacity === undefined ? {} : { capacity: interner.share(status.capacity) }),
            ...(status.allocatable === undefined ? {} : { allocatable: interner.share(status.allocatable) }),
            ...(status.conditions === undefined
              ? {}
              : { conditions: status.conditions.map((condition) => slimCondition(condition, interner)) }),
            ...copyFields(status, ['addresses']),
            ...(status.nodeInfo === undefined
              ? {}
              : {
                  nodeInfo: interner.share(
                    copyFields(status.nodeInfo, [
                      'kubeletVersion',
                      'architecture',
                      'operatingSystem',
                      'osImage',
                      'kernelVersion',
                      'containerRuntimeVersion',
                    ]),
                  ),
                }),
          },
        }),
  };
}

function slimWorkload({ spec }: Workload, interner: Interner): Pick<Workload, 'spec'> {
  return {
    spec: { ...copyFields(spec, ['replicas', 'selector']), template: slimTemplate(spec.template, interner) },
  };
}
