import type {
  Container,
  DaemonSet,
  KubernetesObject,
  Node,
  NodeSelectorRequirement,
  Pod,
  PodSpec,
  Taint,
} from '../../api/kubernetes.js';

/** The same for every case, so that a case file depends on its seed alone. */
const created = '2026-01-01T00:00:00Z';

export const zoneKey = 'topology.kubernetes.io/zone';
export const hostnameKey = 'kubernetes.io/hostname';
export const capacityTypeKey = 'karpenter.sh/capacity-type';
const poolKey = 'karpenter.sh/nodepool';
export const instanceTypeKey = 'node.kubernetes.io/instance-type';
export const archKey = 'kubernetes.io/arch';
export const osKey = 'kubernetes.io/os';
/** Labels that the KWOK provider gives its types. */
export const kwok = {
  cpu: 'karpenter.kwok.sh/instance-cpu',
  memory: 'karpenter.kwok.sh/instance-memory',
  family: 'karpenter.kwok.sh/instance-family',
  size: 'karpenter.kwok.sh/instance-size',
} as const;

export type PartialSpec = Omit<Partial<PodSpec>, 'containers'>;

export const requestsOf = (cpu: string, memory: string, more: Record<string, string> = {}): Record<string, string> => ({
  cpu,
  memory,
  ...more,
});

export function container(requests: Record<string, string>, ports?: Container['ports']): Container {
  return { name: 'main', image: 'registry.k8s.io/pause:3.10', resources: { requests }, ...(ports && { ports }) };
}

export function pod(
  name: string,
  labels: Record<string, string>,
  requests: Record<string, string>,
  spec: PartialSpec & { containers?: Container[] } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `pod-${name}`,
      creationTimestamp: created,
      labels,
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: labels['app'] ?? 'set',
          uid: `rs-${labels['app'] ?? 'set'}`,
          controller: true,
        },
      ],
    },
    spec: { containers: [container(requests)], ...spec },
    status:
      spec.nodeName === undefined
        ? { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }
        : { phase: 'Running', startTime: created },
  };
}

export interface PoolOptions {
  requirements?: (NodeSelectorRequirement & { minValues?: number })[];
  labels?: Record<string, string>;
  taints?: Taint[];
  startupTaints?: Taint[];
  limits?: Record<string, string>;
  weight?: number;
  replicas?: number;
  disruption?: Record<string, unknown>;
}

export function nodePool(name: string, options: PoolOptions = {}): KubernetesObject {
  const { requirements = [], labels, taints, startupTaints, limits, weight, replicas, disruption } = options;
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, uid: `pool-${name}`, creationTimestamp: created },
    spec: {
      template: {
        ...(labels && { metadata: { labels } }),
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements,
          ...(taints && { taints }),
          ...(startupTaints && { startupTaints }),
          expireAfter: '720h',
        },
      },
      ...(limits && { limits }),
      ...(weight !== undefined && { weight }),
      ...(replicas !== undefined && { replicas }),
      disruption: { consolidateAfter: '0s', consolidationPolicy: 'WhenEmptyOrUnderutilized', ...disruption },
    },
    status: {
      conditions: ['ValidationSucceeded', 'NodeClassReady', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        message: '',
        lastTransitionTime: created,
      })),
    },
  } as KubernetesObject;
}

export function daemonSet(name: string, requests: Record<string, string>, spec: PartialSpec = {}): DaemonSet {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system', uid: `ds-${name}`, creationTimestamp: created },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container(requests)], ...spec } },
    },
  };
}

export interface RunningNode {
  name: string;
  pool: string;
  labels: Record<string, string>;
  allocatable: Record<string, string>;
  taints?: Taint[];
  /** False: the node has joined but is not ready yet. */
  initialized?: boolean;
  startupTaints?: Taint[];
}

/** A node and its NodeClaim, as they are once launched. */
export function runningNode(options: RunningNode): KubernetesObject[] {
  const { name, pool, allocatable, taints = [], initialized = true, startupTaints } = options;
  const labels: Record<string, string> = {
    ...options.labels,
    [poolKey]: pool,
    [hostnameKey]: name,
    'karpenter.sh/registered': 'true',
    ...(initialized && { 'karpenter.sh/initialized': 'true' }),
  };
  const providerID = `kwok://${name}`;
  const conditions = ['Launched', 'Registered', 'Initialized', 'Consolidatable', 'Ready'].map((type) => ({
    type,
    status: initialized || type === 'Launched' || type === 'Registered' ? 'True' : 'Unknown',
    reason: type,
    message: '',
    lastTransitionTime: created,
  }));
  const claim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: `claim-${name}`,
      creationTimestamp: created,
      labels: Object.fromEntries(Object.entries(labels).filter(([key]) => key !== hostnameKey)),
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
      taints,
      ...(startupTaints && { startupTaints }),
    },
    status: { nodeName: name, providerID, capacity: allocatable, allocatable, conditions },
  };
  return [nodeObject(options, labels, providerID), claim];
}

function nodeObject(
  { name, allocatable, taints = [], initialized = true, startupTaints }: RunningNode,
  labels: Record<string, string>,
  providerID: string,
): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `node-${name}`, creationTimestamp: created, labels },
    spec: { providerID, taints: [...taints, ...(initialized ? [] : (startupTaints ?? []))] },
    status: {
      capacity: allocatable,
      allocatable,
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastTransitionTime: created }],
    },
  };
}

export const inValues = (key: string, ...values: string[]): NodeSelectorRequirement & { operator: 'In' } => ({
  key,
  operator: 'In',
  values,
});

export const isPending = (object: KubernetesObject): object is Pod =>
  object.kind === 'Pod' && (object as Pod).spec.nodeName === undefined;
export const appOf = ({ metadata }: Pod): string => metadata.labels?.['app'] ?? '';

const storageClass = (name: string, more: object = {}): KubernetesObject =>
  ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...more,
  }) as KubernetesObject;

/** Volumes of `gp3` may be in any zone, those of `gp3-two-zones` in these two. */
export const storageClasses = (twoZones: readonly string[]): KubernetesObject[] => [
  storageClass('gp3'),
  storageClass('gp3-two-zones', {
    allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: [...twoZones] }] }],
  }),
];
