import type { UnreadOnNode, UnreadOnPod } from './labels.js';

/**
 * The fields of Kubernetes objects that Stowage reads or writes, in the API server's JSON format. Types only: the API
 * server has validated them.
 */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export type ResourceList = Record<string, string>;

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export interface Taint {
  key: string;
  value?: string;
  effect: TaintEffect;
  timeAdded?: string;
}

export interface Toleration {
  key?: string;
  operator?: 'Exists' | 'Equal' | 'Lt' | 'Gt';
  value?: string;
  effect?: TaintEffect | '';
  tolerationSeconds?: number;
}

export type NodeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte';

export interface NodeSelectorRequirement {
  key: string;
  operator: NodeSelectorOperator;
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[];
}

export interface LabelSelectorRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  namespaces?: string[];
  namespaceSelector?: LabelSelector;
  topologyKey: string;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

export interface WeightedPodAffinityTerm {
  weight: number;
  podAffinityTerm: PodAffinityTerm;
}

export interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface Affinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
    preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; preference: NodeSelectorTerm }[];
  };
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAffinity;
}

export interface TopologySpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  labelSelector?: LabelSelector;
  minDomains?: number;
  nodeAffinityPolicy?: 'Honor' | 'Ignore';
  nodeTaintsPolicy?: 'Honor' | 'Ignore';
  matchLabelKeys?: string[];
}

export interface ResourceRequirements {
  requests?: ResourceList;
  limits?: ResourceList;
  claims?: { name: string; request?: string }[];
}

export interface Container {
  name: string;
  image?: string;
  resources?: ResourceRequirements;
  restartPolicy?: string;
  ports?: { containerPort?: number; hostPort?: number; hostIP?: string; protocol?: string; name?: string }[];
}

export interface PodVolume {
  name: string;
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  ephemeral?: { volumeClaimTemplate: { metadata?: ObjectMeta; spec: PersistentVolumeClaim['spec'] } };
  csi?: { driver: string };
  hostPath?: { path: string };
  emptyDir?: object;
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: Affinity;
  tolerations?: Toleration[];
  topologySpreadConstraints?: TopologySpreadConstraint[];
  containers: Container[];
  initContainers?: Container[];
  overhead?: ResourceList;
  resources?: ResourceRequirements;
  volumes?: PodVolume[];
  resourceClaims?: { name: string }[];
  priority?: number;
  priorityClassName?: string;
  preemptionPolicy?: 'Never' | 'PreemptLowerPriority';
  schedulingGates?: { name: string }[];
  schedulerName?: string;
  hostNetwork?: boolean;
  terminationGracePeriodSeconds?: number;
}

/** Status of a container; `resources` are in effect, `allocatedResources` are those that kubelet has allocated. */
export interface ContainerStatus {
  name: string;
  resources?: ResourceRequirements;
  allocatedResources?: ResourceList;
}

/** Metadata without Stowage's annotations that are not read for this kind (labels/what-is-believed). */
type MetaWithout<Unread extends string> = ObjectMeta & { annotations?: Partial<Record<Unread, never>> };

export interface Pod extends KubernetesObject {
  metadata: MetaWithout<UnreadOnPod>;
  /**
   * Set on virtual pods of a CapacityBuffer (capacity-buffers/stand-in-pods). The API server drops this field, so no
   * real pod has it.
   */
  virtual?: true;
  spec: PodSpec;
  status?: {
    phase?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
    /** Pod-level requests and limits. */
    resources?: ResourceRequirements;
    allocatedResources?: ResourceList;
    nominatedNodeName?: string;
    startTime?: string;
    reason?: string;
  };
}

export interface Node extends KubernetesObject {
  metadata: MetaWithout<UnreadOnNode>;
  spec?: { providerID?: string; taints?: Taint[]; unschedulable?: boolean };
  status?: {
    capacity?: ResourceList;
    allocatable?: ResourceList;
    conditions?: (Condition & { lastHeartbeatTime?: string })[];
    addresses?: { type: string; address: string }[];
    nodeInfo?: Record<string, string>;
  };
}

export interface Namespace extends KubernetesObject {
  status?: { phase?: string };
}

export interface PodTemplateSpec {
  metadata?: ObjectMeta;
  spec: PodSpec;
}

export interface PodTemplate extends KubernetesObject {
  template: PodTemplateSpec;
}

export interface DaemonSet extends KubernetesObject {
  spec: { selector: LabelSelector; template: PodTemplateSpec };
}

export interface Workload extends KubernetesObject {
  spec: { replicas?: number; selector?: LabelSelector; template: PodTemplateSpec };
}

export interface ReplicationController extends KubernetesObject {
  spec: { replicas?: number; selector?: Record<string, string>; template?: PodTemplateSpec };
}

export interface Service extends KubernetesObject {
  spec: { selector?: Record<string, string>; clusterIP?: string };
}

export interface PodDisruptionBudget extends KubernetesObject {
  spec: {
    selector?: LabelSelector;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: {
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
    observedGeneration?: number;
  };
}

export interface PersistentVolumeClaim extends KubernetesObject {
  spec: {
    storageClassName?: string;
    volumeName?: string;
    volumeMode?: string;
    accessModes?: string[];
    resources?: ResourceRequirements;
    selector?: LabelSelector;
  };
  status?: { phase?: string };
}

export interface PersistentVolume extends KubernetesObject {
  spec: {
    nodeAffinity?: { required?: NodeSelector };
    csi?: { driver: string; volumeHandle?: string };
    local?: { path: string };
    hostPath?: { path: string };
    awsElasticBlockStore?: { volumeID: string };
    gcePersistentDisk?: { pdName: string };
    azureDisk?: { diskName: string };
    storageClassName?: string;
    capacity?: ResourceList;
    accessModes?: string[];
    volumeMode?: string;
    claimRef?: { namespace?: string; name?: string };
  };
  status?: { phase?: string };
}

export interface StorageClass extends KubernetesObject {
  provisioner: string;
  volumeBindingMode?: 'Immediate' | 'WaitForFirstConsumer';
  allowedTopologies?: { matchLabelExpressions?: { key: string; values: string[] }[] }[];
}

export interface CSINode extends KubernetesObject {
  spec: { drivers?: { name: string; nodeID?: string; topologyKeys?: string[]; allocatable?: { count?: number } }[] };
}

export interface VolumeAttachment extends KubernetesObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status?: { attached: boolean };
}

export interface Lease extends KubernetesObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}
