import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import { rolloutHash } from '../cluster/rollout-hash.js';
import { isTrue } from '../core/conditions.js';
import { workflowIds } from '../core/ids.js';
import { effectivePolicyOf } from '../disruption/policies/effective-policy.js';
import { isStatic } from '../disruption/static-capacity/static-capacity.js';
import type { KeepReplicasInput, ReplaceDriftedInput } from '../workflows/messages.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';
import { isDeleting } from '../core/names.js';

/** A static pool has a workflow that keeps its replicas; a pool with drifted nodes and waves has a rollout. */
export function desiredForPool(observed: ObservedCluster, pool: NodePool): readonly WorkflowStart[] {
  if (isStatic(pool)) return replicasOf(observed, pool);
  return rolloutOf(observed, pool);
}
function replicasOf({ cluster, gates }: ObservedCluster, pool: NodePool): readonly WorkflowStart[] {
  if (!gates.StaticCapacity) return [];
  const { name: nodePool, uid: poolUid } = identityOf(pool);
  const input: KeepReplicasInput = { cluster, nodePool, poolUid };
  return [
    {
      workflowId: workflowIds.replicas(cluster, poolUid),
      type: 'keepReplicas',
      input,
      summary: `${nodePool}: as many nodes as its replicas say`,
      afterCompletion: 'startAgain',
    },
  ];
}
/** The rollout for a pool's drifted nodes according to its DisruptionPolicy, unless a user has stopped it. */
function rolloutOf(observed: ObservedCluster, pool: NodePool): readonly WorkflowStart[] {
  const { cluster, policies } = observed;
  if (!hasRollouts(pool, policies)) return [];
  const { name: nodePool, uid: poolUid } = identityOf(pool);
  const drifted = observed.claims.some(
    (claim) =>
      labelsOf(claim).nodePool === nodePool && !isDeleting(claim) && isTrue(claim.status?.conditions, 'Drifted'),
  );
  const nodeClass = observed.nodeClassOf(pool);
  if (!drifted || nodeClass === undefined) return [];
  const hash = rolloutHash(pool, nodeClass);
  if (pool.metadata.annotations?.[annotations.driftStopped] === hash) return [];
  const input: ReplaceDriftedInput = { cluster, nodePool, poolUid, hash };
  return [
    {
      workflowId: workflowIds.drift(cluster, poolUid, hash),
      type: 'replaceDrifted',
      input,
      summary: `${nodePool}: drifted nodes in waves`,
      afterCompletion: 'startAgain',
    },
  ];
}
/** Whether the pool's DisruptionPolicy replaces drifted nodes in waves. */
export function hasRollouts(pool: NodePool, policies: readonly DisruptionPolicy[]): boolean {
  const { spec, invalid } = effectivePolicyOf(pool, policies);
  return spec.driftRollout !== undefined && invalid === undefined && !isStatic(pool);
}
