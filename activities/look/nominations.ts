import { annotations } from '../../api/labels.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { once } from '../../core/once.js';
import { isPending } from '../../core/pods.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionView } from '../disruption/contract.js';
import type { ActivityDeps } from '../deps.js';
import { initializedAt, awaitedNode, nodesForPodsOfDrainingNodes } from '../../cluster/awaited-nodes.js';

/**
 * Nodes that pods are on their way to, and that are no candidates until then (provisioning/nominated-nodes): those that `provision` planned
 * pods onto, by node or, while the node was still to come, by claim; those that pods are nominated to; those that were launched for
 * pods of a node that still drains; those that a running disruption launched; and, while pods pend, those that have only just
 * initialized, since kube-scheduler binds with a delay of its own. `ends` has those that cease to be nominated at a time that is known,
 * milliseconds of the epoch: a drain may take for ever.
 */
export function nominatedNodes(
  deps: Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>,
  { nominations, running }: Pick<DisruptionView, 'nominations' | 'running'>,
  views: readonly NodeView[],
): { readonly names: ReadonlySet<string>; readonly ends: ReadonlyMap<string, number> } {
  const now = deps.now();
  const until = new Map(nominations.map((each) => [each.node, each.until]));
  const plans = running.map(({ workflowId }) => `${workflowId}/`);
  const someoneWaits = once(() => deps.cache.all('Pod').some(isPending));
  const awaited = new Set([
    ...deps.cache.all('Pod').flatMap((pod) => awaitedNode(deps, pod)?.node ?? []),
    ...nodesForPodsOfDrainingNodes(deps),
  ]);
  const ends = new Map<string, number>();
  for (const view of views) {
    const { claim } = view;
    const initialized = initializedAt(claim);
    const fresh = initialized === undefined ? 0 : initialized + deps.nominationMs;
    const end = Math.max(
      until.get(nodeNameOf(view)) ?? 0,
      until.get(claim.metadata.name ?? '') ?? 0,
      fresh > now && someoneWaits() ? fresh : 0,
    );
    const node = nodeNameOf(view);
    const plan = claim.metadata.annotations?.[annotations.plan];
    if (plan !== undefined && plans.some((prefix) => plan.startsWith(prefix))) awaited.add(node);
    if (end > now && !awaited.has(node)) ends.set(node, end);
  }
  return { names: new Set([...awaited, ...ends.keys()]), ends };
}
