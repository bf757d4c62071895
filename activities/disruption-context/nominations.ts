import { annotations } from '../../api/labels.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { Plan } from '../../packing/types.js';
import type { DisruptionView } from './contract.js';
import type { RunningDisruption } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { awaitedNode, nodesForPodsOfDrainingNodes } from '../../cluster/awaited-nodes.js';
import { refusedAt } from '../../cluster/refused-pods.js';
import { nameOf } from '../../core/names.js';

/**
 * Nodes that pods are nominated to, which are no candidates until these pods are bound (provisioning/nominated-nodes):
 * - nodes, or NodeClaims without a Node, that `provision` planned pods onto,
 * - nodes in the `nominatedNodeName` of a pod,
 * - nodes launched for pods of a node that still drains, and nodes launched by a running disruption,
 * - nodes on which pods without a node have room now (`rooms`), planned or not: kube-scheduler may take minutes.
 *
 * `ends`: when a nomination ends, milliseconds of the epoch, where that is known; the end of a drain is not. `judged`:
 * UIDs of NodeClaims that are being decided about, whose own taints do not count. `refusedPods`: pods that
 * kube-scheduler leaves without a node although they have room; at `checks` further pods count as refused.
 */
export function nominatedNodes(
  deps: Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>,
  { nominations, running }: Pick<DisruptionView, 'nominations'> & { readonly running: readonly RunningDisruption[] },
  { views, judged = new Set(), rooms }: Judging,
): Waiting & {
  readonly names: ReadonlySet<string>;
  readonly ends: ReadonlyMap<string, number>;
} {
  const now = deps.now();
  const until = new Map(nominations.map((each) => [each.node, each.until]));
  const plans = running.map(({ workflowId }) => `${workflowId}/`);
  const awaited = new Set([
    ...deps.cache.all('Pod').flatMap((pod) => awaitedNode(deps, pod)?.node ?? []),
    ...nodesForPodsOfDrainingNodes(deps, ofClaims(views, judged)),
  ]);
  const { nodes, refusedPods, checks } = waitedFor(deps, rooms);
  for (const node of nodes) awaited.add(node);
  const ends = new Map<string, number>();
  for (const view of views) {
    const { claim } = view;
    const node = nodeNameOf(view);
    const end = Math.max(until.get(node) ?? 0, until.get(nameOf(claim)) ?? 0);
    const plan = claim.metadata.annotations?.[annotations.plan];
    if (plan !== undefined && plans.some((prefix) => plan.startsWith(prefix))) awaited.add(node);
    if (end > now && !awaited.has(node)) ends.set(node, end);
  }
  return { names: new Set([...awaited, ...ends.keys()]), ends, refusedPods, checks };
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
