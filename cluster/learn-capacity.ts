import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations, labels } from '../api/labels.js';
import type { Node } from '../api/kubernetes.js';
import type { ObservedCapacity } from '../cloud/port.js';
import { isTrue } from '../core/conditions.js';
import { parseResources } from '../core/quantities.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

/** Nodes are checked again only after a change, when the cache returns another array. */
const seen = new WeakMap<object, readonly [readonly Node[], readonly NodeClaim[]]>();

/** Records the actual capacity of registered nodes for their type and image (instance-types/known-memory). */
export function learnCapacity(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): void {
  const nodes = deps.cache.all('Node');
  const claims = deps.cache.all('NodeClaim');
  const [oldNodes, oldClaims] = seen.get(deps.cloud) ?? [];
  if (deps.cloud.learnCapacity === undefined || (oldNodes === nodes && oldClaims === claims)) return;
  seen.set(deps.cloud, [nodes, claims]);
  for (const claim of managedClaims(deps)) {
    const observed = observe(deps, claim);
    if (observed !== undefined) deps.cloud.learnCapacity(observed);
  }
}

/** Capacity in the claim and on its node. */
function observe(deps: Pick<ClusterDeps, 'cache'>, claim: NodeClaim): ObservedCapacity | undefined {
  if (!isTrue(claim.status?.conditions, 'Registered')) return undefined;
  const reported = nodeOf(deps.cache, claim)?.status?.capacity;
  const instanceType = claim.metadata.labels?.[labels.instanceType];
  const imageId = claim.status?.imageID;
  const nodeClassHash = claim.metadata.annotations?.[annotations.ec2NodeClassHash] ?? '';
  if (reported === undefined || instanceType === undefined || imageId === undefined) return undefined;
  try {
    const expected = parseResources(claim.status?.capacity);
    return { instanceType, imageId, nodeClassHash, capacity: parseResources(reported), expected };
  } catch {
    // A node with invalid quantities is skipped here; packing reports it.
    return undefined;
  }
}
