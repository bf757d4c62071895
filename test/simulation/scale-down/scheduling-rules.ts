import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../../api/kubernetes.js';
import { nodeMatches, selectorMatches, untolerated } from '../../checker/selectors.js';
import type { LabelDomain } from '../../checker/selectors.js';
import type { FakeKube } from '../kube/fake.js';

/** What kube-scheduler reads besides the pod and the node that it looks at. */
export interface Surroundings {
  readonly nodes: readonly Node[];
  /** Pods by the names of the nodes that they are on. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  readonly volumes: VolumesOfPods;
  /** Values of a label that spread counts though no node has them now: a new node may. */
  readonly moreDomains?: (key: string) => readonly string[];
}

export interface VolumesOfPods {
  readonly claim: (namespace: string, name: string) => PersistentVolumeClaim | undefined;
  readonly volume: (name: string) => PersistentVolume | undefined;
}

/** Whether kube-scheduler (v1.36.1) lets the pod onto the node by every rule but room: labels, taints, volumes, affinity, anti-affinity and spread. */
export function isAdmitted(pod: Pod, node: Node, around: Surroundings): boolean {
  return (
    isSelected(pod, node) &&
    untolerated(node.spec?.taints ?? [], pod.spec.tolerations) === undefined &&
    isWhereItsVolumesAre(pod, node, around.volumes) &&
    isFarFromOthers(pod, node, around) &&
    isNearOthers(pod, node, around) &&
    isSpread(pod, node, around)
  );
}

/** Whether a pod has rules that other pods or its volumes count in. */
export const hasRules = ({ spec }: Pod): boolean =>
  spec.affinity?.podAffinity !== undefined ||
  spec.affinity?.podAntiAffinity !== undefined ||
  spec.topologySpreadConstraints !== undefined ||
  spec.volumes !== undefined;

export const noVolumes: VolumesOfPods = { claim: () => undefined, volume: () => undefined };

/** As they are in the API server. */
export function volumesIn(kube: Pick<FakeKube, 'kept'>): VolumesOfPods {
  return {
    claim: (namespace, name) =>
      kube
        .kept('PersistentVolumeClaim')
        .find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    volume: (name) => kube.kept('PersistentVolume').find(({ metadata }) => metadata.name === name),
  };
}

const domainsOf =
  ({ metadata }: Node): LabelDomain =>
  (key) => {
    const value = metadata.labels?.[key];
    return value === undefined ? undefined : [value];
  };

function isSelected({ spec }: Pod, node: Node): boolean {
  const { nodeSelector, affinity } = spec;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const constraints = { ...(nodeSelector && { nodeSelector }), ...(required && { required }) };
  return nodeMatches(domainsOf(node), node.metadata.name ?? '', constraints);
}

function isWhereItsVolumesAre({ metadata, spec }: Pod, node: Node, { claim, volume }: VolumesOfPods): boolean {
  for (const { persistentVolumeClaim } of spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const claimed = claim(metadata.namespace ?? '', persistentVolumeClaim.claimName);
    // A pod waits for a claim that is not there.
    if (claimed === undefined) return false;
    const required = volume(claimed.spec.volumeName ?? '')?.spec.nodeAffinity?.required;
    if (required !== undefined && !nodeMatches(domainsOf(node), node.metadata.name ?? '', { required })) return false;
  }
  return true;
}

/** Pods in the same domain of a topology key as the node. */
function podsInDomain(key: string, node: Node, { nodes, pods }: Surroundings): readonly Pod[] {
  const domain = node.metadata.labels?.[key];
  if (domain === undefined) return [];
  const inDomain = nodes.filter(({ metadata }) => metadata.labels?.[key] === domain);
  return inDomain.flatMap(({ metadata }) => pods.get(metadata.name ?? '') ?? []);
}

/** Terms of pods here select by labels, in the pod's own namespace. */
const isSelectedBy = ({ labelSelector }: PodAffinityTerm, owner: Pod, other: Pod): boolean =>
  owner.metadata.namespace === other.metadata.namespace && selectorMatches(labelSelector, other.metadata.labels ?? {});

const antiAffinityOf = ({ spec }: Pod): readonly PodAffinityTerm[] =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Neither the pod's own anti-affinity nor that of a pod that is there keeps them apart. */
function isFarFromOthers(pod: Pod, node: Node, around: Surroundings): boolean {
  const isKeptAway = antiAffinityOf(pod).some((term) =>
    podsInDomain(term.topologyKey, node, around).some((other) => isSelectedBy(term, pod, other)),
  );
  if (isKeptAway) return false;
  for (const [name, there] of around.pods) {
    const home = around.nodes.find(({ metadata }) => metadata.name === name);
    const keepsAway = (term: PodAffinityTerm, owner: Pod): boolean =>
      isSelectedBy(term, owner, pod) &&
      home?.metadata.labels?.[term.topologyKey] !== undefined &&
      home.metadata.labels[term.topologyKey] === node.metadata.labels?.[term.topologyKey];
    if (there.some((owner) => antiAffinityOf(owner).some((term) => keepsAway(term, owner)))) return false;
  }
  return true;
}

/** A pod that its affinity selects is in the domain; the first of pods that select one another may be anywhere that has a domain. */
function isNearOthers(pod: Pod, node: Node, around: Surroundings): boolean {
  const terms = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (terms.length === 0) return true;
  if (terms.some(({ topologyKey }) => node.metadata.labels?.[topologyKey] === undefined)) return false;
  const isChosen = (other: Pod): boolean => terms.every((term) => isSelectedBy(term, pod, other));
  if (terms.every(({ topologyKey }) => podsInDomain(topologyKey, node, around).some(isChosen))) return true;
  const isThereOne = [...around.pods.values()].some((there) => there.some(isChosen));
  return !isThereOne && isChosen(pod);
}

/** No domain has more than `maxSkew` pods above the emptiest, of the nodes that the pod's own labels let it onto. */
function isSpread(pod: Pod, node: Node, around: Surroundings): boolean {
  const constraints = pod.spec.topologySpreadConstraints ?? [];
  return constraints.every((constraint) => {
    const { topologyKey, labelSelector, maxSkew, minDomains = 1, whenUnsatisfiable } = constraint;
    if (whenUnsatisfiable !== 'DoNotSchedule') return true;
    const own = node.metadata.labels?.[topologyKey];
    if (own === undefined) return false;
    const counts = countsByDomain(pod, constraint, around);
    const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
    const self = selectorMatches(labelSelector, pod.metadata.labels ?? {}) ? 1 : 0;
    return (counts.get(own) ?? 0) + self - least <= maxSkew;
  });
}

/** How many pods that the constraint selects are in each domain. */
function countsByDomain(
  pod: Pod,
  { topologyKey, labelSelector }: TopologySpreadConstraint,
  { nodes, pods, moreDomains }: Surroundings,
): ReadonlyMap<string, number> {
  const counts = new Map((moreDomains?.(topologyKey) ?? []).map((domain) => [domain, 0]));
  const isCounted = ({ metadata }: Pod): boolean =>
    metadata.namespace === pod.metadata.namespace && selectorMatches(labelSelector, metadata.labels ?? {});
  for (const node of nodes) {
    const domain = node.metadata.labels?.[topologyKey];
    if (domain === undefined || !isSelected(pod, node)) continue;
    const there = (pods.get(node.metadata.name ?? '') ?? []).filter(isCounted);
    counts.set(domain, (counts.get(domain) ?? 0) + there.length);
  }
  return counts;
}
