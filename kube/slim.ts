import type {
  CSINode,
  DaemonSet,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PodTemplate,
  ReplicationController,
  Service,
  StorageClass,
  VolumeAttachment,
  Workload,
} from '../api/kubernetes.js';
import type { Interner } from './intern.js';
import { resources } from './kinds.js';
import type { Kind, Kinds } from './port.js';
import { copyFields, slimMetadata } from './slim-metadata.js';
import { slimCondition, slimPod, slimTemplate } from './slim-pod.js';

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
