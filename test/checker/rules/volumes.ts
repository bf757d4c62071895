import type { NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/kubernetes.js';
import { type Cluster, isDeleting, isFinished } from '../cluster.js';
import { parseResources } from '../../../core/quantities.js';
import { hostnameKey, instanceTypeKey } from '../catalogue.js';
import type { FinalNode, Placement } from '../placement.js';
import { podKey } from '../pods.js';
import { type LabelDomain, nodeMatches, normalKey, selectorMatches } from '../selectors.js';
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
  const each = placement.nodes.flatMap((node) => {
    const placed = node.podNames.flatMap((key) => placement.cluster.pods.get(key) ?? []);
    if (!placed.some((pod) => (pod.spec.volumes ?? []).length > 0)) return [];
    return [
      ...placed.flatMap((pod) => reach(placement.cluster, node, pod)),
      ...attachments(placement.cluster, node, [...(running.get(node.name) ?? []), ...placed]),
    ];
  });
  return [...each, ...sharedClaims(placement), ...staticClaims(placement)];
}

/** ReadWriteOncePod claims that two pods use, or that one uses which stays. */
function sharedClaims({ cluster, nodes }: Placement): Violation[] {
  const placed = nodes.flatMap((node) => node.podNames.map((key) => ({ key, node })));
  const movedKeys = new Set(placed.map(({ key }) => key));
  const users = new Map<string, string>();
  for (const pod of cluster.pods.values()) {
    if ((pod.spec.nodeName ?? '') === '' || isFinished(pod) || movedKeys.has(podKey(pod))) continue;
    for (const { key } of claimsOf(cluster, pod)) users.set(key, podKey(pod));
  }
  return placed.flatMap(({ key: name, node }) => {
    const pod = cluster.pods.get(name);
    return (pod === undefined ? [] : claimsOf(cluster, pod)).flatMap(({ key, claim }): Violation[] => {
      const user = users.get(key);
      users.set(key, name);
      if (user === undefined || claim?.spec.accessModes?.includes('ReadWriteOncePod') !== true) return [];
      return [
        { rule: 'volumes', node: node.name, pod: name, message: `${key} is ReadWriteOncePod and used by ${user}` },
      ];
    });
  });
}

/** Claims of classes that provision nothing, for which there is no volume of their own that their nodes reach. */
function staticClaims({ cluster, nodes }: Placement): Violation[] {
  const wanted = new Map<string, { claim: PersistentVolumeClaim; node: FinalNode; pod: string }>();
  for (const node of nodes) {
    for (const name of node.podNames) {
      const pod = cluster.pods.get(name);
      for (const { key, claim } of pod === undefined ? [] : claimsOf(cluster, pod)) {
        const storage = cluster.storageClasses.get(claim?.spec.storageClassName ?? '');
        const isStatic =
          storage?.provisioner === 'kubernetes.io/no-provisioner' && (claim?.spec.volumeName ?? '') === '';
        if (claim !== undefined && isStatic) wanted.set(key, { claim, node, pod: name });
      }
    }
  }
  const owner = new Map<string, string>();
  const give = (key: string, tried: Set<string>): boolean => {
    const { claim, node } = wanted.get(key)!;
    return [...cluster.volumes].some(([name, volume]) => {
      if (tried.has(name) || !serves(volume, claim, key)) return false;
      const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
      if (terms !== undefined && !holds(node, terms)) return false;
      tried.add(name);
      const before = owner.get(name);
      if (before !== undefined && !give(before, tried)) return false;
      owner.set(name, key);
      return true;
    });
  };
  return [...wanted].flatMap(([key, { node, pod }]) =>
    give(key, new Set())
      ? []
      : [{ rule: 'volumes', node: node.name, pod, message: `no volume that its node reaches is left for ${key}` }],
  );
}

function serves(volume: PersistentVolume, { spec: asked }: PersistentVolumeClaim, key: string): boolean {
  const { metadata, spec } = volume;
  const [size, room] = [asked.resources?.requests, spec.capacity].map((list) => parseResources(list)['storage'] ?? 0);
  const [mode, given] = [asked, spec].map(({ volumeMode = 'Filesystem' }) => volumeMode);
  const isAlike = spec.storageClassName === asked.storageClassName && mode === given && size! <= room!;
  const isOpen = (asked.accessModes ?? []).every((each) => spec.accessModes?.includes(each));
  const isChosen = asked.selector === undefined || selectorMatches(asked.selector, metadata.labels ?? {});
  return isLeftFor(volume, key) && isAlike && isOpen && isChosen;
}

function isLeftFor({ metadata, spec: { claimRef }, status }: PersistentVolume, key: string): boolean {
  const kept = claimRef === undefined ? undefined : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`;
  return (
    metadata.deletionTimestamp === undefined && (kept === undefined ? status?.phase === 'Available' : kept === key)
  );
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
    const terms = topologyTerms(cluster, claim, pod);
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
function topologyTerms(cluster: Cluster, claim: PersistentVolumeClaim, pod: Pod): NodeSelectorTerm[] | undefined {
  const { volumeName = '', storageClassName = '' } = claim.spec;
  if (volumeName !== '') return volumeTerms(cluster, cluster.volumes.get(volumeName), pod);
  return cluster.storageClasses.get(storageClassName)?.allowedTopologies?.map((topology) => ({
    matchExpressions: (topology.matchLabelExpressions ?? []).map((e) => ({ ...e, operator: 'In' as const })),
  }));
}

function volumeTerms(cluster: Cluster, volume: PersistentVolume | undefined, pod: Pod): NodeSelectorTerm[] | undefined {
  const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (volume?.spec.local === undefined && volume?.spec.hostPath === undefined) return terms;
  // A local volume names a host, which goes if its pod moves or is gone already; if not, only that host will do (volumes/local-volumes).
  const isThere = (host: string): boolean =>
    (pod.spec.nodeName ?? '') === '' &&
    [...cluster.nodes].some(
      ([name, node]) =>
        (node.metadata.labels?.[hostnameKey] ?? name) === host && !isDeleting(node, cluster.claims.get(name)),
    );
  const free = terms?.map((term) => ({
    matchExpressions: (term.matchExpressions ?? []).filter(
      (e) => normalKey(e.key) !== hostnameKey || (e.values ?? []).some(isThere),
    ),
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
  const isNew = node.claim !== undefined;
  const limits = isNew ? leastReported(cluster, node) : countsOf(cluster, node.name);
  return limits.flatMap(([driver, limit]): Violation[] => {
    const volumes = new Set<string>();
    for (const pod of pods) {
      for (const { key, claim } of claimsOf(cluster, pod)) {
        // Which of its users bring a shared volume to a new node is not known before they are bound.
        if (claim === undefined || driverOf(cluster, claim) !== driver || (isNew && isShared(cluster, key))) continue;
        volumes.add(claim.spec.volumeName ?? key);
      }
    }
    const message = `${volumes.size} volumes of ${driver} where ${limit} can be attached`;
    return volumes.size <= limit ? [] : [{ rule: 'volumes', node: node.name, message }];
  });
}

type Limit = readonly [driver: string, count: number];

const countsOf = ({ csiNodes }: Cluster, name: string): Limit[] =>
  (csiNodes.get(name)?.spec.drivers ?? []).flatMap(({ name: driver, allocatable }): Limit[] =>
    allocatable?.count === undefined ? [] : [[driver, allocatable.count]],
  );

/** What half of the nodes of each type that the claim lists attach. */
function leastReported(cluster: Cluster, { launches }: FinalNode): Limit[] {
  return [...new Set(launches.map(({ type }) => type.name))].flatMap((type) => {
    const alike = [...cluster.nodes.values()].filter(({ metadata }) => metadata.labels?.[instanceTypeKey] === type);
    const all = alike.flatMap(({ metadata }) => countsOf(cluster, metadata.name ?? ''));
    return [...new Set(all.map(([driver]) => driver))].map((driver): Limit => {
      const counts = all.flatMap(([name, count]) => (name === driver ? [count] : [])).sort((a, b) => a - b);
      return [driver, counts[Math.ceil(counts.length / 2) - 1]!];
    });
  });
}

const isShared = (cluster: Cluster, key: string): boolean =>
  [...cluster.pods.values()].filter((pod) => claimsOf(cluster, pod).some((claim) => claim.key === key)).length > 1;
