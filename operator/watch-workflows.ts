import { isManaged, managedClaims, managedPools, nodeClassOf, nodeOf } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import type { OperatorContext } from './context.js';
import type { ObservedCluster } from './observed-cluster.js';
import { WorkQueue } from './work-queue.js';
import type { WorkflowReconciler } from './workflow-reconciler.js';
import { nameOf } from '../core/names.js';

/** A missing workflow is started within two of these intervals. */
const passEveryMs = 60_000;

/**
 * Runs the reconciler for everything now and every minute, and for a NodePool when it changes or one of its nodes
 * drifts. NodeClaims are followed by `watchClaims`.
 */
export function watchWorkflows(context: OperatorContext, reconciler: WorkflowReconciler): () => void {
  const { cache, log } = context;
  const passes = new WorkQueue('starting missing workflows', () => pass(reconciler), log, 1);
  const pools = new WorkQueue('starting the workflows of a NodePool', (name) => poolChanged(context, name), log);
  const stops = [
    cache.on('NodePool', ({ type, object, previous }) => {
      const isNew = previous === undefined || previous.metadata.generation !== object.metadata.generation;
      if (type !== 'deleted' && isNew) pools.add(nameOf(object));
    }),
    cache.on('NodeClaim', ({ type, object, previous }) => {
      const drifted = isTrue(object.status?.conditions, 'Drifted');
      if (type === 'deleted' || !drifted || isTrue(previous?.status?.conditions, 'Drifted')) return;
      pools.add(labelsOf(object).nodePool);
    }),
  ];
  passes.add('all');
  return () => {
    for (const stop of stops) stop();
    passes.stop();
    pools.stop();
  };
}

/** Input of the reconciler; computed lazily. */
export function observedCluster(context: Omit<OperatorContext, 'workflows' | 'window'>): ObservedCluster {
  const { cluster, cache, cloud, gates, now } = context;
  return {
    cluster,
    gates,
    now: now(),
    get claims() {
      return managedClaims(context);
    },
    get pools() {
      return managedPools(context);
    },
    get policies() {
      return cache.all('DisruptionPolicy');
    },
    repairPolicies: cloud.repairPolicies ?? [],
    nodeOf: (claim) => nodeOf(cache, claim),
    nodeClassOf: (pool) => nodeClassOf(context, pool.spec.template.spec.nodeClassRef),
  };
}

async function pass(reconciler: WorkflowReconciler): Promise<{ afterMs: number }> {
  await reconciler.pass();
  return { afterMs: passEveryMs };
}

async function poolChanged(context: OperatorContext, name: string): Promise<undefined> {
  const pool = context.cache.get('NodePool', { name });
  if (pool === undefined || !isManaged(context, pool.spec.template.spec.nodeClassRef)) return undefined;
  return context.workflows.poolChanged(pool);
}
