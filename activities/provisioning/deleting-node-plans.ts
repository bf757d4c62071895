import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { isReschedulable } from '../../core/pods.js';
import type { Plan } from '../../packing/types.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { DeletingNodePlan } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { identityOf } from '../../cluster/node-labels.js';
import { fullName } from '../../core/names.js';

/**
 * For each deleting node what its pods wait for in `plan`: NodeClaims to create (the first `creatable` of the plan),
 * NodeClaims that are not initialized yet, on which pods cannot count (consolidation/room-on-starting-nodes), and how
 * many pods have no place. Nodes whose pods all have places on initialized nodes are left out.
 */
export function deletingNodePlans(
  deps: ActivityDeps,
  plan: Plan,
  deleting: readonly string[],
  creatable: number,
): readonly DeletingNodePlan[] {
  const nodeOf = new Map<string, string>();
  for (const node of deleting) {
    for (const pod of deps.cache.podsOnNode(node).filter(isReschedulable)) nodeOf.set(fullName(pod), node);
  }
  if (nodeOf.size === 0) return [];
  const tallies = new Map<string, Tally>();
  const of = (pod: string): Tally | undefined => {
    const node = nodeOf.get(pod);
    if (node === undefined) return undefined;
    const known = tallies.get(node) ?? { claims: new Set(), coming: new Map(), unplaced: 0, firstReason: undefined };
    tallies.set(node, known);
    return known;
  };
  plan.newNodeClaims.slice(0, creatable).forEach(({ pods }, i) => pods.forEach((pod) => of(pod)?.claims.add(i)));
  for (const { node, pods } of plan.existingNodes) {
    const coming = comingUp(deps, node);
    if (coming !== undefined) for (const pod of pods) of(pod)?.coming.set(coming.uid, coming);
  }
  const deferred = (plan.deferred ?? []).map((pod) => ({ pod, reason: 'the pass left it for the next one' }));
  for (const { pod, reason } of [...plan.unschedulable, ...deferred]) {
    const tally = of(pod);
    if (tally === undefined) continue;
    tally.unplaced += 1;
    tally.firstReason ??= `${pod}: ${reason}`;
  }
  return deleting.flatMap((node) => {
    const tally = tallies.get(node);
    return tally === undefined ? [] : [planOf(node, tally)];
  });
}

interface Tally {
  readonly claims: Set<number>;
  readonly coming: Map<string, ClaimRef>;
  unplaced: number;
  firstReason: string | undefined;
}

function planOf(node: string, { claims, coming, unplaced, firstReason }: Tally): DeletingNodePlan {
  return {
    node,
    claims: [...claims].sort((a, b) => a - b),
    coming: [...coming.values()],
    unplaced,
    ...(firstReason === undefined ? {} : { firstReason }),
  };
}

/** The NodeClaim of a node that is not initialized. A planned node without a Node has the name of its NodeClaim. */
function comingUp({ cache }: ActivityDeps, name: string): ClaimRef | undefined {
  const node = cache.get('Node', { name });
  const claim: NodeClaim | undefined =
    node === undefined ? cache.get('NodeClaim', { name }) : cache.nodeClaimByProviderId(node.spec?.providerID ?? '');
  if (claim === undefined || isTrue(claim.status?.conditions, 'Initialized')) return undefined;
  return identityOf(claim);
}
