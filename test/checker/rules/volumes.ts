import type { NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/kubernetes.js';
import type { Cluster } from '../cluster.js';
import { isFinished } from '../cluster.js';
import { hostnameKey } from '../catalogue.js';
import type { FinalNode, Placement } from '../placement.js';
import { podKey } from '../pods.js';
import { type LabelDomain, nodeMatches, normalKey } from '../selectors.js';
import type { Violation } from '../types.js';

/** Each placed pod can reach its volumes from its node, and no node gets more of them than its driver attaches. */
export function checkVolumes(placement: Placement): Violation[] {
  const running = new Map<string, Pod[]>();
  for (const pod of placement.cluster.pods.values()) {
    const name = pod.spec.nodeName;
    if (name === undefined || isFinished(pod)) continue;
    const pods = running.get(name);
    if (pods === undefined) running.set(name, [pod]);
    else pods.push(pod);
  }
  return placement.nodes.flatMap((node) => {
    const placed = node.podNames.flatMap((key) => placement.cluster.pods.get(key) ?? []);
    if (!placed.some((pod) => (pod.spec.volumes ?? []).length > 0)) return [];
    return [
      ...placed.flatMap((pod) => reach(placement.cluster, node, pod)),
      ...attachments(placement.cluster, node, [...(running.get(node.name) ?? []), ...placed]),
    ];
  });
}

interface PodClaim {
  readonly key: string;
  readonly claim: PersistentVolumeClaim | undefined;
}

function claimsOf(cluster: Cluster, pod: Pod): PodClaim[] {
  const namespace = pod.metadata.namespace ?? 'default';
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name =
      volume.persistentVolumeClaim?.claimName ??
      (volume.ephemeral === undefined ? undefined : `${pod.metadata.name ?? ''}-${volume.name}`);
    if (name === undefined) return [];
    const key = `${namespace}/${name}`;
    return [{ key, claim: cluster.volumeClaims.get(key) }];
  });
}

function reach(cluster: Cluster, node: FinalNode, pod: Pod): Violation[] {
  const violations: Violation[] = [];
  for (const { key, claim } of claimsOf(cluster, pod)) {
    if (claim === undefined) continue;
    if (cluster.volumes.get(claim.spec.volumeName ?? '')?.metadata.deletionTimestamp !== undefined) {
      const message = `waits for the volume of ${key}, which is being deleted`;
      violations.push({ rule: 'volumes', node: node.name, pod: podKey(pod), message });
      continue;
    }
    const terms = topologyTerms(cluster, claim);
    if (terms === undefined || holds(node, terms)) continue;
    violations.push({
      rule: 'volumes',
      node: node.name,
      pod: podKey(pod),
      message: `cannot reach the volume of ${key}`,
    });
  }
  return violations;
}

/** Where the volume of a claim is, or may be made: alternatives, or undefined for anywhere. */
function topologyTerms(cluster: Cluster, claim: PersistentVolumeClaim): NodeSelectorTerm[] | undefined {
  const { volumeName = '', storageClassName = '' } = claim.spec;
  if (volumeName !== '') return volumeTerms(cluster.volumes.get(volumeName));
  return cluster.storageClasses.get(storageClassName)?.allowedTopologies?.map((topology) => ({
    matchExpressions: (topology.matchLabelExpressions ?? []).map((e) => ({ ...e, operator: 'In' as const })),
  }));
}

function volumeTerms(volume: PersistentVolume | undefined): NodeSelectorTerm[] | undefined {
  const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (volume?.spec.local === undefined && volume?.spec.hostPath === undefined) return terms;
  // A local volume names a host that is gone by the time another node is needed(volumes/local-volumes).
  const free = terms?.map((term) => ({
    matchExpressions: (term.matchExpressions ?? []).filter((e) => normalKey(e.key) !== hostnameKey),
  }));
  return free?.every((term) => term.matchExpressions.length > 0) === true ? free : undefined;
}

function holds(node: FinalNode, terms: NodeSelectorTerm[]): boolean {
  const matches = (labels: LabelDomain): boolean =>
    nodeMatches(labels, node.name, { required: { nodeSelectorTerms: terms } });
  if (matches(node.labels)) return true;
  return node.launches.length > 0 && node.launches.every((launch) => matches(launch.labels));
}

function driverOf(cluster: Cluster, claim: PersistentVolumeClaim): string | undefined {
  const volume = cluster.volumes.get(claim.spec.volumeName ?? '');
  if (volume !== undefined) return volume.spec.csi?.driver ?? movedTo(volume);
  const provisioner = cluster.storageClasses.get(claim.spec.storageClassName ?? '')?.provisioner;
  return inTree.find(({ plugin }) => plugin === provisioner)?.driver ?? provisioner;
}

/** Kubernetes' own plugins, whose volumes CSI drivers attach now: the name as a provisioner, and the field of a volume. */
const inTree = [
  { plugin: 'kubernetes.io/aws-ebs', field: 'awsElasticBlockStore', driver: 'ebs.csi.aws.com' },
  { plugin: 'kubernetes.io/gce-pd', field: 'gcePersistentDisk', driver: 'pd.csi.storage.gke.io' },
  { plugin: 'kubernetes.io/azure-disk', field: 'azureDisk', driver: 'disk.csi.azure.com' },
] as const;

const movedTo = ({ spec }: PersistentVolume): string | undefined =>
  inTree.find(({ field }) => spec[field] !== undefined)?.driver;

function attachments(cluster: Cluster, node: FinalNode, pods: readonly Pod[]): Violation[] {
  const drivers = cluster.csiNodes.get(node.name)?.spec.drivers ?? [];
  const violations: Violation[] = [];
  for (const driver of drivers) {
    const limit = driver.allocatable?.count;
    if (limit === undefined) continue;
    const volumes = new Set<string>();
    for (const pod of pods) {
      for (const { key, claim } of claimsOf(cluster, pod)) {
        if (claim !== undefined && driverOf(cluster, claim) === driver.name) volumes.add(claim.spec.volumeName ?? key);
      }
    }
    if (volumes.size <= limit) continue;
    const message = `${volumes.size} volumes of ${driver.name} where ${limit} can be attached`;
    violations.push({ rule: 'volumes', node: node.name, message });
  }
  return violations;
}
