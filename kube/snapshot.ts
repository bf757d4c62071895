import type { ClusterCache, Kind, Kinds } from './port.js';

/** The input fields of packing, by name. */
const fields = {
  pods: 'Pod',
  nodes: 'Node',
  nodeClaims: 'NodeClaim',
  nodePools: 'NodePool',
  daemonSets: 'DaemonSet',
  namespaces: 'Namespace',
  services: 'Service',
  replicaSets: 'ReplicaSet',
  statefulSets: 'StatefulSet',
  replicationControllers: 'ReplicationController',
  podDisruptionBudgets: 'PodDisruptionBudget',
  persistentVolumeClaims: 'PersistentVolumeClaim',
  persistentVolumes: 'PersistentVolume',
  storageClasses: 'StorageClass',
  csiNodes: 'CSINode',
  nodeOverlays: 'NodeOverlay',
  capacityBuffers: 'CapacityBuffer',
  disruptionPolicies: 'DisruptionPolicy',
} as const satisfies Readonly<Record<string, Kind>>;

type ClusterSnapshot = { readonly [F in keyof typeof fields]: readonly Kinds[(typeof fields)[F]][] };

/** The kinds that a cache must watch for `clusterObjects`. */
export const snapshotKinds: readonly Kind[] = Object.values(fields);

/** Kinds that CapacityBuffers refer to, for clusters that use them. */
export const bufferKinds: readonly Kind[] = ['Deployment', 'PodTemplate'];

/** Those whose CustomResourceDefinition may be missing. */
export const optionalKinds: readonly Kind[] = ['NodeOverlay', 'CapacityBuffer', 'DisruptionPolicy', 'DisruptionPause'];

/**
 * The current cache in the form of packing's `ClusterObjects`. The arrays belong to the cache and are immutable, so a
 * snapshot is free. Kinds that the cache does not watch are empty.
 *
 * @testOnly compares the watched kinds with those that packing reads
 */
export function clusterObjects(cache: Pick<ClusterCache, 'all' | 'kinds'>): ClusterSnapshot {
  const entries = Object.entries(fields).map(([field, kind]) => [
    field,
    cache.kinds.includes(kind) ? cache.all(kind) : [],
  ]);
  return Object.fromEntries(entries) as ClusterSnapshot;
}
