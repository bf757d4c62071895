import type { ClusterCache, Kind, Kinds } from './port.js';

/** What packing reads, under the names that it reads it by. */
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

export type ClusterSnapshot = { readonly [F in keyof typeof fields]: readonly Kinds[(typeof fields)[F]][] };

/** The kinds that a cache must watch for `clusterObjects`. */
export const snapshotKinds: readonly Kind[] = Object.values(fields);

/** What CapacityBuffers refer to, for caches of clusters that use them. */
export const bufferKinds: readonly Kind[] = ['Deployment', 'PodTemplate'];

/** Of those, the ones whose CustomResourceDefinition a cluster may do without. */
export const optionalKinds: readonly Kind[] = ['NodeOverlay', 'CapacityBuffer', 'DisruptionPolicy', 'DisruptionPause'];

/**
 * The cluster as the cache has it now, in the shape of packing's `ClusterObjects`. The arrays are the cache's own and
 * never change; taking a snapshot costs nothing. Kinds that the cache does not watch are empty.
 *
 * @testOnly holds the kinds that are watched against what packing reads
 */
export function clusterObjects(cache: Pick<ClusterCache, 'all' | 'kinds'>): ClusterSnapshot {
  const entries = Object.entries(fields).map(([field, kind]) => [
    field,
    cache.kinds.includes(kind) ? cache.all(kind) : [],
  ]);
  return Object.fromEntries(entries) as ClusterSnapshot;
}
