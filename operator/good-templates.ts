import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import { isManaged } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { updateObject } from '../cluster/writes.js';
import { isTrue } from '../core/conditions.js';
import { nodePoolHash } from '../disruption/drift/template-hash.js';
import { canonicalJson } from '../core/hash.js';
import { poolStamp, templateDrift } from '../disruption/drift/drift.js';
import { effectivePolicyOf } from '../disruption/policies/effective-policy.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/**
 * Records the first good template of a NodePool with a rollout policy: the one of all its nodes, so that the first
 * rollout has a template to restore. Later ones are recorded by successful rollouts.
 */
export function watchGoodTemplates(context: OperatorContext): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('recording a good template', (name) => reconcile(context, name), log);
  const all = (): void => cache.all('NodePool').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const stops = [
    cache.on('DisruptionPolicy', all),
    cache.on('NodeClaim', ({ type, object, previous }) => {
      const becameReady = isInitialized(object) && (previous === undefined || !isInitialized(previous));
      // The last node of an older template may be gone.
      if (type === 'deleted' || becameReady) queue.add(labelsOf(object).nodePool);
    }),
  ];
  all();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

async function reconcile(context: OperatorContext, name: string): Promise<undefined> {
  const { cache, kube } = context;
  const cached = cache.get('NodePool', { name });
  if (cached === undefined || !wantsIt(context, cached)) return undefined;
  const claims = cache.all('NodeClaim').filter((claim) => labelsOf(claim).nodePool === name);
  if (!isProven(cached, claims)) return undefined;
  await updateObject(kube, 'NodePool', name, (pool) => {
    if (!wantsIt(context, pool) || !isProven(pool, claims)) return undefined;
    return { metadata: { annotations: { [annotations.lastGoodTemplate]: canonicalJson(pool.spec.template) } } };
  });
  return undefined;
}

function wantsIt(context: OperatorContext, pool: NodePool): boolean {
  if (pool.metadata.annotations?.[annotations.lastGoodTemplate] !== undefined) return false;
  if (!isManaged(context, pool.spec.template.spec.nodeClassRef)) return false;
  return effectivePolicyOf(pool, context.cache.all('DisruptionPolicy')).spec.driftRollout !== undefined;
}

/** Whether all ready nodes, and those starting, have the current template. */
function isProven(pool: NodePool, claims: readonly NodeClaim[]): boolean {
  const hash = nodePoolHash(pool.spec.template);
  const isOfIt = (claim: NodeClaim): boolean =>
    poolStamp(claim).hash === hash && templateDrift(claim, pool) !== 'RequirementsDrifted';
  return claims.some(isInitialized) && claims.every(isOfIt);
}

const isInitialized = ({ status }: NodeClaim): boolean => isTrue(status?.conditions, 'Initialized');
