import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { isManaged } from '../cluster/cluster.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import { isStatic } from '../disruption/static-capacity/static-capacity.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import { nameOf } from '../core/names.js';

/**
 * Starts and signals `keepReplicas` for each static pool (static-capacity/keeps-replicas) when its spec or readiness,
 * or one of its claims, changes.
 */
export function watchStaticPools(context: OperatorContext): () => void {
  const { cache, gates, log } = context;
  if (!gates.StaticCapacity) return () => undefined;
  const queue = new WorkQueue('keeping the replicas of a NodePool', (name) => reconcile(context, name), log);
  const stops = [
    cache.onEach('NodePool', ({ object, previous }) => {
      if (!isStatic(object)) return;
      if (previous === undefined || ofPool(previous) !== ofPool(object)) queue.add(nameOf(object));
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
  await context.starter.keepReplicas(name, identityOf(pool).uid);
  return undefined;
}

const ofPool = ({ metadata, status }: NodePool): string =>
  JSON.stringify([metadata.generation, metadata.deletionTimestamp, isTrue(status?.conditions, 'Ready')]);

/** The fields of a claim that the plan reads and pods do not change: pod changes do not trigger it. */
const ofClaim = ({ metadata, status }: NodeClaim): string =>
  JSON.stringify([metadata.deletionTimestamp, isTrue(status?.conditions, 'DisruptionReason')]);
