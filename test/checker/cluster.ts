import type {
  CSINode,
  DaemonSet,
  KubernetesObject,
  LabelSelector,
  Namespace,
  Node,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  ResourceList,
  StorageClass,
  Taint,
} from '../../api/kubernetes.js';
import { bufferPods } from './buffers.js';
import { podKey } from './pods.js';
import type { CommitmentJson, ObjectList } from './types.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/** The part of a NodePool that a plan must keep to. */
export interface Pool extends KubernetesObject {
  spec: {
    limits?: ResourceList;
    weight?: number;
    replicas?: number;
    disruption?: {
      consolidateAfter?: string;
      consolidationPolicy?: string;
      budgets?: { nodes?: string; schedule?: string; duration?: string; reasons?: string[] }[];
    };
    template: {
      metadata?: { labels?: Record<string, string> };
      spec: {
        requirements?: WrittenRequirement[];
        taints?: Taint[];
        startupTaints?: Taint[];
        nodeClassRef?: { group?: string; kind?: string; name?: string };
      };
    };
  };
  status?: { conditions?: { type: string; status: string }[] };
}

export interface Claim extends KubernetesObject {
  spec?: { startupTaints?: Taint[]; taints?: Taint[]; requirements?: WrittenRequirement[] };
  status?: {
    nodeName?: string;
    providerID?: string;
    capacity?: ResourceList;
    allocatable?: ResourceList;
    lastPodEventTime?: string;
    conditions?: { type: string; status: string; lastTransitionTime?: string }[];
  };
}

/** A cluster's objects by kind and name. */
export interface Cluster {
  readonly pods: ReadonlyMap<string, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly pools: ReadonlyMap<string, Pool>;
  /** NodeClaims by the name of their node. */
  readonly claims: ReadonlyMap<string, Claim>;
  readonly daemonSets: readonly DaemonSet[];
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly volumeClaims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly storageClasses: ReadonlyMap<string, StorageClass>;
  readonly csiNodes: ReadonlyMap<string, CSINode>;
  readonly disruptionBudgets: readonly PodDisruptionBudget[];
  readonly overlays: readonly Overlay[];
  readonly policies: readonly Policy[];
  readonly commitments: readonly CommitmentJson[];
}

/** The part of a NodeOverlay that changes types. */
export interface Overlay extends KubernetesObject {
  spec: {
    requirements: WrittenRequirement[];
    weight?: number;
    price?: string;
    priceAdjustment?: string;
    capacity?: ResourceList;
  };
}

/** The part of a DisruptionPolicy that a plan must keep to. */
export interface Policy extends KubernetesObject {
  spec: {
    weight?: number;
    nodePoolSelector?: LabelSelector;
    nodeCost?: string;
    spotRatio?: { spotPercent: number; minimumOnDemandVCPU?: number; perZone?: boolean };
  };
}

const name = (object: KubernetesObject): string => object.metadata.name ?? '';
const qualified = (object: KubernetesObject): string => `${object.metadata.namespace ?? 'default'}/${name(object)}`;

function byName<T extends KubernetesObject>(objects: readonly T[], key: (object: T) => string): Map<string, T> {
  return new Map(objects.map((object) => [key(object), object]));
}

export function readCluster(list: ObjectList, commitments: readonly CommitmentJson[] = []): Cluster {
  const kinds = new Map<string, KubernetesObject[]>();
  for (const item of list.items as KubernetesObject[]) {
    const kind = kinds.get(item.kind);
    if (kind === undefined) kinds.set(item.kind, [item]);
    else kind.push(item);
  }
  const all = <T extends KubernetesObject>(kind: string): T[] => (kinds.get(kind) ?? []) as T[];
  const nodes = all<Node>('Node').filter(isNode);
  const nodeOfProviderId = new Map(nodes.map((node) => [node.spec?.providerID ?? '', name(node)]));
  return {
    pods: byName([...all<Pod>('Pod'), ...bufferPods(all)], podKey),
    nodes: byName(nodes, name),
    pools: byName(all<Pool>('NodePool'), name),
    claims: byName(
      all<Claim>('NodeClaim'),
      (claim) => claim.status?.nodeName ?? nodeOfProviderId.get(claim.status?.providerID ?? '-') ?? name(claim),
    ),
    daemonSets: daemonSetsAsRun(all<DaemonSet>('DaemonSet').filter(isDaemonSet), all<Pod>('Pod')),
    namespaces: byName(all<Namespace>('Namespace'), name),
    volumeClaims: byName(all<PersistentVolumeClaim>('PersistentVolumeClaim'), qualified),
    volumes: byName(all<PersistentVolume>('PersistentVolume'), name),
    storageClasses: byName(all<StorageClass>('StorageClass'), name),
    csiNodes: byName(all<CSINode>('CSINode'), name),
    disruptionBudgets: all<PodDisruptionBudget>('PodDisruptionBudget'),
    overlays: all<Overlay>('NodeOverlay'),
    policies: all<Policy>('DisruptionPolicy'),
    commitments,
  };
}

/** DaemonSets whose template is what the newest of their pods came to be; the host that it is tied to is no part of that. */
function daemonSetsAsRun(sets: readonly DaemonSet[], pods: readonly Pod[]): DaemonSet[] {
  const byDate = pods.filter(isDaemonPod).sort((a, b) => {
    const [x, y] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? '');
    return x === y ? (name(a) < name(b) ? 1 : -1) : x! < y! ? -1 : 1;
  });
  const newest = new Map(
    byDate.map((pod) => [
      `${pod.metadata.namespace ?? 'default'}/${pod.metadata.ownerReferences!.find(isDaemonSet)!.name}`,
      pod,
    ]),
  );
  return sets.map((set) => {
    const pod = newest.get(qualified(set));
    if (pod === undefined) return set;
    const { labels } = pod.metadata;
    return {
      ...set,
      spec: { ...set.spec, template: { metadata: { ...(labels && { labels }) }, spec: freed(pod, set) } },
    };
  });
}

function freed({ spec }: Pod, set: DaemonSet): PodSpec {
  const templates = set.spec.template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const own = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const terms = own.map(({ matchExpressions = [] }) => ({
    matchExpressions: matchExpressions.filter(({ key }) => key !== 'kubernetes.io/hostname'),
  }));
  const anywhere = terms.length === 0 || terms.some(({ matchExpressions }) => matchExpressions.length === 0);
  const required = templates ?? (anywhere ? undefined : { nodeSelectorTerms: terms });
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return {
    ...spec,
    affinity: {
      ...(podAffinity && { podAffinity }),
      ...(podAntiAffinity && { podAntiAffinity }),
      ...(required && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } }),
    },
  };
}

export const isFinished = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

type OfKind = Pick<OwnerReference, 'apiVersion' | 'kind'>;

/** Of the group `apps`, in any version; other groups have DaemonSets too. */
export const isDaemonSet = ({ apiVersion, kind }: OfKind): boolean =>
  kind === 'DaemonSet' && apiVersion.startsWith('apps/');

const isNode = ({ apiVersion, kind }: OfKind): boolean => kind === 'Node' && !apiVersion.includes('/');

export const isDaemonPod = (pod: Pod): boolean => (pod.metadata.ownerReferences ?? []).some(isDaemonSet);

/** A static pod, mirrored by its kubelet. */
export const isMirror = ({ metadata }: Pod): boolean =>
  metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined || (metadata.ownerReferences ?? []).some(isNode);

/** Whether a node is to be planned for the pod: it is pending, and no other controller provides one. */
export function isProvisionable(pod: Pod): boolean {
  return (
    (pod.spec.nodeName ?? '') === '' &&
    (pod.status?.nominatedNodeName ?? '') === '' &&
    pod.metadata.deletionTimestamp === undefined &&
    (pod.spec.schedulingGates ?? []).length === 0 &&
    !isFinished(pod) &&
    !isDaemonPod(pod) &&
    !isMirror(pod)
  );
}

const ephemeral = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'karpenter.sh/unregistered',
]);

/** Whether a node has its labels and taints; until then its claim has them. */
export const isRegistered = ({ metadata: { labels = {} } }: Node, claim: Claim | undefined): boolean =>
  claim === undefined || ['registered', 'initialized'].some((each) => labels[`karpenter.sh/${each}`] === 'true');

/** The taints of a node that will still be there once it is ready for pods. */
export function lastingTaints(node: Node, claim: Claim | undefined): readonly Taint[] {
  const all = (isRegistered(node, claim) ? node.spec?.taints : claim?.spec?.taints) ?? [];
  if (claim === undefined || node.metadata.labels?.['karpenter.sh/initialized'] === 'true') return all;
  const startup = claim.spec?.startupTaints ?? [];
  return all.filter(
    (taint) =>
      !ephemeral.has(taint.key) &&
      !taint.key.startsWith('readiness.k8s.io/') &&
      !startup.some((s) => s.key === taint.key && s.effect === taint.effect),
  );
}

/** Whether a node is on its way out, so that its pods may be placed anew. */
export function isDeleting(node: Node, claim: Claim | undefined): boolean {
  return node.metadata.deletionTimestamp !== undefined || claim?.metadata.deletionTimestamp !== undefined;
}
