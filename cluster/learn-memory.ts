import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { annotations, labels } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { parseResource, parseResources } from '../core/quantities.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

/** Nodes are looked at again only when something changed: the cache then has another array. */
const seen = new WeakMap<object, readonly [readonly Node[], readonly NodeClaim[]]>();

/** What registered nodes really have shrinks the estimates for their type and image (instance-types/known-memory). */
export function learnMemory(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): void {
  const nodes = deps.cache.all('Node');
  const claims = deps.cache.all('NodeClaim');
  const [oldNodes, oldClaims] = seen.get(deps.cloud) ?? [];
  const { cloud } = deps;
  if ((cloud.learnMemory ?? cloud.learnCapacity) === undefined || (oldNodes === nodes && oldClaims === claims)) return;
  seen.set(deps.cloud, [nodes, claims]);
  for (const claim of managedClaims(deps)) {
    const observed = observe(deps, claim);
    if (observed !== undefined) cloud.learnMemory?.(observed);
    const capacity = observeCapacity(deps, claim);
    if (capacity !== undefined) cloud.learnCapacity?.(capacity);
  }
}

function observe(
  deps: Pick<ClusterDeps, 'cache'>,
  claim: NodeClaim,
): { readonly instanceType: string; readonly imageId: string; readonly memory: number } | undefined {
  if (!isTrue(claim.status?.conditions, 'Registered')) return undefined;
  const memory = nodeOf(deps.cache, claim)?.status?.capacity?.['memory'];
  const instanceType = claim.metadata.labels?.[labels.instanceType];
  const imageId = claim.status?.imageID;
  if (memory === undefined || instanceType === undefined || imageId === undefined) return undefined;
  const bytes = readable(memory);
  return bytes === undefined ? undefined : { instanceType, imageId, memory: bytes };
}

/** What the claim says, and what its node has of it. */
function observeCapacity(
  deps: Pick<ClusterDeps, 'cache'>,
  claim: NodeClaim,
): Parameters<NonNullable<ClusterDeps['cloud']['learnCapacity']>>[0] | undefined {
  if (!isTrue(claim.status?.conditions, 'Registered')) return undefined;
  const reported = nodeOf(deps.cache, claim)?.status?.capacity;
  const instanceType = claim.metadata.labels?.[labels.instanceType];
  const imageId = claim.status?.imageID;
  const nodeClassHash = claim.metadata.annotations?.[annotations.ec2NodeClassHash];
  if (reported === undefined || instanceType === undefined || imageId === undefined || nodeClassHash === undefined)
    return undefined;
  try {
    const expected = parseResources(claim.status?.capacity);
    return { instanceType, imageId, nodeClassHash, capacity: parseResources(reported), expected };
  } catch {
    return undefined;
  }
}

/** Nothing is learned from a node that says what is no amount: whoever packs it says so. */
function readable(memory: string): number | undefined {
  try {
    return parseResource('memory', memory);
  } catch {
    return undefined;
  }
}
