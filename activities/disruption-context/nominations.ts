import { annotations } from '../../api/labels.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { once } from '../../core/once.js';
import { isPending } from '../../core/pods.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionView } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { initializedAt, awaitedNode, nodesForPodsOfDrainingNodes } from '../../cluster/awaited-nodes.js';

/**
 * Nodes that pods are nominated to, which are no candidates until these pods are bound (provisioning/nominated-nodes):
 * - nodes, or NodeClaims without a Node, that `provision` planned pods onto,
 * - nodes in the `nominatedNodeName` of a pod,
 * - nodes launched for pods of a node that still drains, and nodes launched by a running disruption,
 * - nodes initialized just now while pods are pending, because kube-scheduler binds with a delay.
 *
 * `ends`: when a nomination ends, milliseconds of the epoch, where that is known; the end of a drain is not. `judged`: UIDs of NodeClaims that
 * are being decided about, whose own taints do not count.
 */
export function nominatedNodes(
  deps: Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>,
  { nominations, running }: Pick<DisruptionView, 'nominations' | 'running'>,
  views: readonly NodeView[],
  judged: ReadonlySet<string> = new Set(),
): { readonly names: ReadonlySet<string>; readonly ends: ReadonlyMap<string, number> } {
  const now = deps.now();
  const until = new Map(nominations.map((each) => [each.node, each.until]));
  const plans = running.map(({ workflowId }) => `${workflowId}/`);
  const arePodsPending = once(() => deps.cache.all('Pod').some(isPending));
  const awaited = new Set([
    ...deps.cache.all('Pod').flatMap((pod) => awaitedNode(deps, pod)?.node ?? []),
    ...nodesForPodsOfDrainingNodes(deps, ofClaims(views, judged)),
  ]);
  const ends = new Map<string, number>();
  for (const view of views) {
    const { claim } = view;
    const initialized = initializedAt(claim);
    const fresh = initialized === undefined ? 0 : initialized + deps.nominationMs;
    const end = Math.max(
      until.get(nodeNameOf(view)) ?? 0,
      until.get(claim.metadata.name ?? '') ?? 0,
      fresh > now && arePodsPending() ? fresh : 0,
    );
    const node = nodeNameOf(view);
    const plan = claim.metadata.annotations?.[annotations.plan];
    if (plan !== undefined && plans.some((prefix) => plan.startsWith(prefix))) awaited.add(node);
    if (end > now && !awaited.has(node)) ends.set(node, end);
  }
  return { names: new Set([...awaited, ...ends.keys()]), ends };
}

const ofClaims = (views: readonly NodeView[], uids: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(views.filter(({ claim }) => uids.has(claim.metadata.uid ?? '')).map(nodeNameOf));
