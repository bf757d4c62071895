import { annotations } from '../../api/labels.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { Plan } from '../../packing/types.js';
import type { RunningDisruption } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { awaitedNode, nodesForPodsOfDrainingNodes } from '../../cluster/awaited-nodes.js';
import { refusedAt } from '../../cluster/refused-pods.js';

/**
 * Nodes that pods are nominated to, which are no candidates until these pods are bound (provisioning/nominated-nodes):
 * - nodes in the `nominatedNodeName` of a pod,
 * - nodes launched for pods of a node that still drains, and nodes launched by a running disruption,
 * - nodes on which pods without a node have room now (`rooms`), planned or not: kube-scheduler may take minutes.
 *
 * `judged`: UIDs of NodeClaims that are being decided about, whose own taints do not count. `refusedPods`: pods that
 * kube-scheduler leaves without a node although they have room; at `checks` further pods count as refused.
 */
export function nominatedNodes(
  deps: Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>,
  running: readonly RunningDisruption[],
  { views, judged = new Set(), rooms }: Judging,
): Waiting & { readonly nominated: ReadonlySet<string> } {
  const plans = running.map(({ workflowId }) => `${workflowId}/`);
  const nominated = new Set([
    ...deps.cache.all('Pod').flatMap((pod) => awaitedNode(deps, pod)?.node ?? []),
    ...nodesForPodsOfDrainingNodes(deps, ofClaims(views, judged)),
  ]);
  const { nodes, refusedPods, checks } = waitedFor(deps, rooms);
  for (const node of nodes) nominated.add(node);
  for (const view of views) {
    const plan = view.claim.metadata.annotations?.[annotations.plan];
    if (plan !== undefined && plans.some((prefix) => plan.startsWith(prefix))) nominated.add(nodeNameOf(view));
  }
  return { nominated, refusedPods, checks };
}

/** The nodes on which waiting pods have room, except pods that kube-scheduler refuses there. */
function waitedFor(
  deps: Pick<ActivityDeps, 'cache' | 'now'>,
  rooms: Plan['existingNodes'],
): Waiting & { readonly nodes: ReadonlySet<string> } {
  const nodes = new Set<string>();
  const refusedPods = new Set<string>();
  const checks: number[] = [];
  for (const { node, pods } of rooms) {
    for (const pod of pods) {
      const at = refusedAt(deps, pod, node);
      if (at <= deps.now()) {
        refusedPods.add(pod);
        continue;
      }
      nodes.add(node);
      if (Number.isFinite(at)) checks.push(at);
    }
  }
  return { nodes, refusedPods, checks };
}

interface Waiting {
  readonly refusedPods: ReadonlySet<string>;
  readonly checks: readonly number[];
}

interface Judging {
  readonly views: readonly NodeView[];
  readonly judged?: ReadonlySet<string> | undefined;
  readonly rooms: Plan['existingNodes'];
}

const ofClaims = (views: readonly NodeView[], uids: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(views.filter(({ claim }) => uids.has(claim.metadata.uid ?? '')).map(nodeNameOf));
