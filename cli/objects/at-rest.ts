import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Condition, Node } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { claimLifecycle, conditionOf } from '../../core/conditions.js';
import { nameOf } from '../../core/names.js';
import type { LeastSaving } from '../../disruption/consolidation/types.js';
import { rulesOf } from '../../disruption/policies/pool-rules.js';
import type { ClusterObjects } from '../../packing/types.js';

const longAgo = '1970-01-01T00:00:00Z';

/**
 * Completes objects from files as in an idle cluster: nodes without conditions are ready, NodeClaims belong to their
 * nodes, are initialized, and had no recent pod events. Deleting objects stay so.
 */
export function asAtRest(objects: ClusterObjects): ClusterObjects {
  const nodes = (objects.nodes ?? []).map((node) => ({ ...node, metadata: { ...node.metadata } }));
  const byName = new Map(nodes.map((node) => [nameOf(node), node]));
  const byId = new Map(nodes.flatMap((node) => (node.spec?.providerID ? [[node.spec.providerID, node] as const] : [])));
  const nodeClaims = (objects.nodeClaims ?? []).map((claim) => {
    const node = byId.get(claim.status?.providerID ?? '') ?? byName.get(claim.status?.nodeName ?? '');
    return node === undefined ? claim : settled(claim, node);
  });
  return { ...objects, nodes: nodes.map(ready), nodeClaims };
}

function settled(claim: NodeClaim, node: Node): NodeClaim {
  node.metadata.labels = { ...node.metadata.labels, [labels.registered]: 'true', [labels.initialized]: 'true' };
  const status = { ...claim.status };
  delete status.lastPodEventTime;
  let conditions: Condition[] = [...(status.conditions ?? [])];
  for (const type of [...claimLifecycle, 'Consolidatable']) {
    conditions = conditions.filter((condition) => condition.type !== type);
    conditions.push({ type, status: 'True', reason: type, message: '', lastTransitionTime: longAgo });
  }
  const nodeName = nameOf(node);
  const own = { ...claim.metadata.labels };
  const pool = node.metadata.labels[labels.nodePool];
  if (pool !== undefined) own[labels.nodePool] ??= pool;
  return { ...claim, metadata: { ...claim.metadata, labels: own }, status: { ...status, nodeName, conditions } };
}

function ready(node: Node): Node {
  if (conditionOf(node.status?.conditions, 'Ready') !== undefined) return node;
  const condition: Condition = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: '',
    lastTransitionTime: longAgo,
  };
  return { ...node, status: { ...node.status, conditions: [...(node.status?.conditions ?? []), condition] } };
}

/** Minimum savings of a move according to the DisruptionPolicies. */
export function leastSavingsByPool({
  nodePools,
  disruptionPolicies = [],
}: ClusterObjects): ReadonlyMap<string, LeastSaving> {
  return new Map(
    nodePools.flatMap((pool) => {
      const { leastShare: share, leastDollarsPerHour: dollarsPerHour } = rulesOf(pool, disruptionPolicies);
      return share > 0 || dollarsPerHour > 0 ? [[nameOf(pool), { share, dollarsPerHour }] as const] : [];
    }),
  );
}
