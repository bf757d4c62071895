import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import type { InstanceType } from '../core/instance-type.js';
import { allocatableOf, pinnedValue } from '../core/launch-options.js';
import { lookUp } from '../core/own.js';
import { formatResource } from '../core/quantities.js';
import { isNominated, isPending, isUnassigned } from '../core/pods.js';
import type { BufferObjects } from '../packing/compile/buffers.js';
import type { PackingInput } from '../packing/types.js';
import { cataloguesOf, instanceTypesOf, managedClaims } from './cluster.js';
import type { ClusterDeps } from './deps.js';
import { overlaysInEffect } from './overlays.js';
import { awaitedNode } from './awaited-nodes.js';
import { refusalsInForce } from './refused-pods.js';
import { fullName } from '../core/names.js';
import type { Refusal } from '../core/refusals.js';

/** The dependencies for packing input. */
export type PackingDeps = Pick<ClusterDeps, 'cache' | 'cloud' | 'gates' | 'packing' | 'now' | 'nominationMs' | 'log'>;

/**
 * The input of packing from the current cache, without objects whose feature gate is off. `waits`: which pods without a
 * node count.
 */
export async function packingInput(
  deps: PackingDeps,
  pools: readonly NodePool[],
  without: readonly string[] = [],
  waits: (pod: Pod) => boolean = isPending,
): Promise<PackingInput> {
  const { cache, gates } = deps;
  const refusalOf = refusalsInForce(deps);
  const catalogues = await gatedCatalogues(deps, pools);
  return {
    objects: {
      pods: cache.all('Pod').flatMap((pod) => asPacked(deps, pod, waits, refusalOf)),
      nodes: cache.all('Node'),
      nodeClaims: managedClaims(deps).map((claim) => withLeastRoom(claim, catalogues)),
      nodePools: pools,
      daemonSets: cache.all('DaemonSet'),
      namespaces: cache.all('Namespace'),
      services: cache.all('Service'),
      replicaSets: cache.all('ReplicaSet'),
      statefulSets: cache.all('StatefulSet'),
      replicationControllers: cache.all('ReplicationController'),
      podDisruptionBudgets: cache.all('PodDisruptionBudget'),
      persistentVolumeClaims: cache.all('PersistentVolumeClaim'),
      persistentVolumes: cache.all('PersistentVolume'),
      storageClasses: cache.all('StorageClass'),
      csiNodes: cache.all('CSINode'),
      nodeOverlays: overlaysInEffect(deps),
      ...(gates.CapacityBuffer ? buffersOf(deps) : {}),
      disruptionPolicies: cache.all('DisruptionPolicy'),
    },
    catalogues,
    settings: deps.packing,
    now: deps.now(),
    withoutNodes: new Set(without),
  };
}

/**
 * Pods that are pending for another reason than a missing node are left out (provisioning/nominated-pods,
 * provisioning/refused-pods). Pods for which Stowage launched a node count as bound to it until they arrive.
 */
function asPacked(
  deps: PackingDeps,
  pod: Pod,
  waits: (pod: Pod) => boolean,
  refusalOf: (pod: Pod) => Refusal | undefined,
): readonly Pod[] {
  if ((pod.spec.nodeName ?? '') !== '') return [pod];
  if (!waits(pod)) return [];
  if (refusalOf(pod) !== undefined) return [];
  const awaited = awaitedNode(deps, pod);
  if (awaited !== undefined) return awaited.own ? [onNode(pod, awaited.node)] : [];
  return isNominated(pod) ? [{ ...pod, status: { ...pod.status, nominatedNodeName: '' } }] : [pod];
}

/**
 * The input of packing for disruption (consolidation/room-of-pending-pods): pods that kube-scheduler has not tried yet
 * need room like those it found unschedulable. `refused`: pods that it leaves pending although they have room.
 */
export async function disruptionInput(
  deps: PackingDeps,
  pools: readonly NodePool[],
  { without, refused = new Set() }: { without: readonly string[]; refused?: ReadonlySet<string> },
): Promise<PackingInput> {
  return packingInput(deps, pools, without, (pod) => isUnassigned(pod) && !refused.has(fullName(pod)));
}

/** Returns the same object for the same input, so that packing threads need not receive it again. */
function onNode(pod: Pod, nodeName: string): Pod {
  let copy = copies.get(pod);
  if (copy?.spec.nodeName !== nodeName) copies.set(pod, (copy = { ...pod, spec: { ...pod.spec, nodeName } }));
  return copy;
}

const copies = new WeakMap<Pod, Pod>();

/**
 * A claim without an instance has at least the room of the smallest type that it lists (provisioning/cache-is-current).
 * Returns the same object for the same catalogue.
 */
function withLeastRoom(claim: NodeClaim, catalogues: ReadonlyMap<string, readonly InstanceType[]>): NodeClaim {
  const { allocatable, capacity } = claim.status ?? {};
  const types = catalogues.get(claim.metadata.labels?.[labels.nodePool] ?? '');
  if (allocatable !== undefined || capacity !== undefined || types === undefined) return claim;
  const known = promised.get(claim);
  if (known?.types === types) return known.claim;
  const room = leastRoom(claim, types);
  const made = room === undefined ? claim : { ...claim, status: { ...claim.status, allocatable: room } };
  promised.set(claim, { types, claim: made });
  return made;
}

const promised = new WeakMap<NodeClaim, { readonly types: readonly InstanceType[]; readonly claim: NodeClaim }>();

/** Undefined if the claim lists no types, or an unknown one. */
function leastRoom(claim: NodeClaim, types: readonly InstanceType[]): Record<string, string> | undefined {
  const names = new Set(instanceTypesOf(claim));
  const rooms = types.filter(({ name }) => names.has(name)).map(allocatableOf);
  const [first, ...others] = rooms;
  if (first === undefined || rooms.length < names.size) return undefined;
  const least = Object.entries(first).map(([resource, amount]) => {
    const smallest = Math.min(amount, ...others.map((room) => lookUp(room, resource) ?? 0));
    return [resource, formatResource(resource, smallest)] as const;
  });
  return Object.fromEntries(least);
}

/** CapacityBuffers and the objects they may refer to (capacity-buffers/spec). */
export function buffersOf({ cache }: Pick<ClusterDeps, 'cache'>): Required<BufferObjects> {
  return {
    capacityBuffers: cache.all('CapacityBuffer'),
    deployments: cache.all('Deployment'),
    podTemplates: cache.all('PodTemplate'),
    replicaSets: cache.all('ReplicaSet'),
    statefulSets: cache.all('StatefulSet'),
  };
}

async function gatedCatalogues(
  deps: PackingDeps,
  pools: readonly NodePool[],
): Promise<ReadonlyMap<string, readonly InstanceType[]>> {
  const catalogues = await cataloguesOf(deps, pools);
  if (deps.gates.ReservedCapacity) return catalogues;
  return new Map([...catalogues].map(([name, types]) => [name, withoutReserved(types)]));
}

/** Returns the same array for the same input, since packing caches by identity. */
function withoutReserved(types: readonly InstanceType[]): readonly InstanceType[] {
  let result = unreserved.get(types);
  if (result === undefined) {
    result = types.map((type) => ({
      ...type,
      offerings: type.offerings.filter(
        ({ requirements }) => pinnedValue(requirements, labels.capacityType) !== 'reserved',
      ),
    }));
    unreserved.set(types, result);
  }
  return result;
}

const unreserved = new WeakMap<readonly InstanceType[], readonly InstanceType[]>();
