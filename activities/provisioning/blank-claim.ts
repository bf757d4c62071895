import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { PlannedClaim } from '../../packing/types.js';
import { whyNoPlace } from '../../packing/places.js';
import type { ActivityDeps } from '../deps.js';
import { placementOf } from '../placement.js';
import { packingInput } from '../../cluster/packing-input.js';
import { fullName } from '../../core/names.js';

/** A pod without requests that tolerates everything, so that packing launches a node for it. */
const smallPod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'static-capacity', namespace: 'default', uid: 'static-capacity' },
  spec: { containers: [], tolerations: [{ operator: 'Exists' }] },
  status: { phase: 'Pending' },
};

/**
 * The NodeClaim of a static NodePool (static-capacity/blank-node): its template on an empty cluster, with the cheapest
 * types that have room for its DaemonSet pods. Returns why there is none otherwise. Limits are not checked here.
 */
export async function blankClaim(
  deps: ActivityDeps,
  pool: NodePool,
): Promise<PlannedClaim | { readonly reason: string }> {
  const { template, disruption } = pool.spec;
  const dynamic: NodePool = { ...pool, spec: { template, disruption } };
  const input = await packingInput(deps, [dynamic]);
  const empty = { pods: [smallPod], nodes: [], nodeClaims: [], nodePools: [dynamic], capacityBuffers: [] };
  const key = fullName(smallPod);
  const { places } = await placementOf(deps, { ...input, objects: { ...input.objects, ...empty } }, new Set([key]));
  const place = places.get(key);
  if (place?.state === 'launched') return { ...place.claim, pods: [] };
  return { reason: (place && whyNoPlace(place)) ?? 'no instance type is offered' };
}
