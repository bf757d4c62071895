import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Pod } from '../api/kubernetes.js';
import { transitionOf } from '../core/conditions.js';
import { podShape, refusalsOn, type Refusal } from '../core/refusals.js';
import { isReschedulable, isUnassigned } from '../core/pods.js';
import { listedNames, verb } from '../core/text.js';
import { timeText } from '../core/time.js';
import { idleSince } from '../disruption/consolidation/consolidatable.js';
import { nodeOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

type Deps = Pick<ClusterDeps, 'cache' | 'now'>;

/**
 * How long kube-scheduler may leave a pod pending although a node has room for it, without changes there. It may be
 * busy or stopped.
 */
const patienceMs = 10 * 60_000;
/** Upper limit, however often the node changes. */
const longestMs = 60 * 60_000;

/**
 * When kube-scheduler counts as refusing the pod (`namespace/name`) on the node, which has room for it according to
 * packing, milliseconds since the epoch (provisioning/refused-pods). kube-scheduler retries a pod after changes, and
 * after five minutes at the latest.
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

/**
 * Whether the claim's node has no pod that would need another node: if pods were planned there, it was launched in
 * vain.
 */
export function holdsNothing({ cache }: Deps, claim: NodeClaim): boolean {
  const name = nodeOf(cache, claim)?.metadata.name;
  return name !== undefined && !cache.podsOnNode(name).some(isReschedulable);
}

/** Refused pods recorded on NodePools. */
export function podRefusals({ cache, now }: Deps): readonly Refusal[] {
  return cache.all('NodePool').flatMap((pool) => podRefusalsOn(pool, now()));
}

export const podRefusalsOn = (pool: NodePool, now: number): readonly Refusal[] =>
  refusalsOn(pool, now).filter(({ by }) => by === 'kube-scheduler');

/** Returns a function that says whether and why no node is launched for a pod now; reads the records once for many pods. */
export function refusalsInForce(deps: Deps): (pod: Pod) => Refusal | undefined {
  const inForce = podRefusals(deps).filter(({ until }) => until > deps.now());
  const byShape = new Map(inForce.map((refusal) => [refusal.shape, refusal]));
  return (pod) => (byShape.size === 0 ? undefined : byShape.get(podShape(pod)));
}

export function refusalText({ nodes, message, until }: Refusal): string {
  const said = message === '' ? '' : `, and says: ${message}`;
  const which = `${verb(nodes.length, 'node', 'nodes')} ${listedNames(nodes)}, which ${verb(nodes.length, 'was', 'were')} there for it`;
  return `kube-scheduler left it without ${which}${said}. No node is launched for such pods before ${timeText(until)}`;
}
