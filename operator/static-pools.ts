import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { isManaged } from '../cluster/cluster.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import { isStatic } from '../disruption/static-capacity/static-capacity.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import { regarding } from '../core/regarding.js';

const repeatMs = 3_600_000;

/**
 * Starts and wakes `keepReplicas` for each static pool (static-capacity/keeps-replicas) when its spec or readiness, or a claim of it,
 * changes. Without feature gate StaticCapacity it says on the pool that nothing keeps its replicas.
 */
export function watchStaticPools(context: OperatorContext): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('keeping the replicas of a NodePool', (name) => reconcile(context, name), log);
  const stops = [
    cache.onEach('NodePool', ({ object, previous }) => {
      if (!isStatic(object)) return;
      if (previous === undefined || ofPool(previous) !== ofPool(object)) queue.add(object.metadata.name ?? '');
    }),
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (type !== 'deleted' && previous !== undefined && ofClaim(previous) === ofClaim(object)) return;
      const { nodePool } = labelsOf(object);
      if (isStatic(cache.get('NodePool', { name: nodePool }))) queue.add(nodePool);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

async function reconcile(context: OperatorContext, name: string): Promise<undefined> {
  const pool = context.cache.get('NodePool', { name });
  if (pool === undefined || !isStatic(pool) || !isManaged(context, pool.spec.template.spec.nodeClassRef)) {
    return undefined;
  }
  if (!context.gates.StaticCapacity) {
    publishGateIsOff(context, pool);
    return undefined;
  }
  await context.starter.keepReplicas(name, identityOf(pool).uid);
  return undefined;
}

function publishGateIsOff({ events }: OperatorContext, pool: NodePool): void {
  const { name, uid } = identityOf(pool);
  const replicas = pool.spec.replicas ?? 0;
  events.publish({
    regarding: regarding('NodePool', { name, uid }),
    type: 'Warning',
    reason: 'StaticCapacityDisabled',
    message: `spec.replicas: found ${replicas}, but feature gate StaticCapacity is off: no node is kept; set FEATURE_GATES=StaticCapacity=true`,
    dedupeMs: repeatMs,
  });
}

const ofPool = ({ metadata, status }: NodePool): string =>
  JSON.stringify([metadata.generation, metadata.deletionTimestamp, isTrue(status?.conditions, 'Ready')]);

/** What the plan reads of a claim that pods do not change: pods alone are no reason to look. */
const ofClaim = ({ metadata, status }: NodeClaim): string =>
  JSON.stringify([metadata.deletionTimestamp, isTrue(status?.conditions, 'DisruptionReason')]);
