import { transitionOf } from '../core/conditions.js';
import { isUnassigned } from '../core/pods.js';
import { idleSince } from '../disruption/consolidation/consolidatable.js';
import type { ClusterDeps } from './deps.js';

type Deps = Pick<ClusterDeps, 'cache' | 'now'>;

/** For so long kube-scheduler may leave a pod without a node that has room for it, while nothing changes there. It may be busy, or stand still. */
const patienceMs = 10 * 60_000;
/** And for so long at most, whatever changes there. */
const longestMs = 60 * 60_000;

/**
 * When kube-scheduler counts as refusing the pod (`namespace/name`) on the node, which has room for it as far as packing can see,
 * milliseconds of the epoch (provisioning/refused-pods). It retries a pod when something changes, and after five minutes at the latest.
 */
export function refusedAt({ cache }: Deps, pod: string, nodeName: string): number {
  const [namespace = '', name = ''] = pod.split('/');
  const found = cache.get('Pod', { namespace, name });
  const node = cache.get('Node', { name: nodeName });
  if (found === undefined || node === undefined || !isUnassigned(found)) return Infinity;
  const claim = cache.nodeClaimByProviderId(node.spec?.providerID ?? '');
  const waits = Math.max(
    Date.parse(found.metadata.creationTimestamp ?? ''),
    transitionOf(found.status?.conditions, 'PodScheduled') ?? 0,
  );
  const idle = (claim && idleSince({ claim })) ?? Date.parse(node.metadata.creationTimestamp ?? '');
  const at = Math.min(Math.max(waits, idle) + patienceMs, waits + longestMs);
  return Number.isNaN(at) ? Infinity : at;
}
