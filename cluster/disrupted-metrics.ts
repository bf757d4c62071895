import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { parseNillableDuration } from '../core/durations.js';
import { isReschedulable } from '../core/pods.js';
import { snakeCase } from '../core/text.js';
import { nodeOf, poolOf } from './cluster.js';
import type { Metrics } from '../core/telemetry.js';
import type { ClusterDeps } from './deps.js';
import { labelsOf } from './node-labels.js';
import { nameOf } from '../core/names.js';

/** Reasons governed by the consolidation policy of the NodePool. */
const consolidating: ReadonlySet<string> = new Set(['empty', 'underutilized']);

/** Counts a NodeClaim whose termination has begun, and its pods that need another node (metrics/disrupted). */
export function countDisrupted(
  deps: Pick<ClusterDeps, 'cache'> & { readonly metrics: Metrics },
  claim: NodeClaim,
  reason: string,
): void {
  const { nodePool, capacityType } = labelsOf(claim);
  const own = {
    reason,
    nodepool: nodePool,
    capacity_type: capacityType,
    consolidation_policy: consolidating.has(reason)
      ? snakeCase(poolOf(deps.cache, claim)?.spec.disruption.consolidationPolicy ?? '')
      : '',
    termination_mode: terminationMode(claim),
  };
  deps.metrics.count('nodeclaims_disrupted_total', own);
  const node = nodeOf(deps.cache, claim);
  if (node === undefined) return;
  const pods = deps.cache.podsOnNode(nameOf(node)).filter((pod) => isReschedulable(pod));
  if (pods.length > 0) deps.metrics.count('pods_disruption_initiated_total', own, pods.length);
}

/** How long the drain waits for pods: without limit, for the terminationGracePeriod, or not at all. */
function terminationMode({ spec }: NodeClaim): 'graceful' | 'eventual' | 'forceful' {
  const grace = parseNillableDuration(spec.terminationGracePeriod, 'terminationGracePeriod');
  if (grace === Number.POSITIVE_INFINITY) return 'graceful';
  return grace <= 0 ? 'forceful' : 'eventual';
}
