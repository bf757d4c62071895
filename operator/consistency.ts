import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim, type ClaimChange } from '../cluster/writes.js';
import { consistency } from '../cluster/consistency.js';
import { conditionOf, isTrue, withCondition } from '../core/conditions.js';
import type { OperatorContext } from './context.js';
import { WorkQueue, type Requeue } from './work-queue.js';
import { regarding } from '../core/events.js';
import { nameOf, isDeleting } from '../core/names.js';

const everyMs = 600_000;

/**
 * Writes ConsistentStateFound (registration/consistency) where it changes after the initialization, which writes it first:
 * every ten minutes.
 */
export function watchConsistency(context: OperatorContext): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('checking a node against its NodeClaim', (name) => check(context, name), log);
  const stop = cache.onEach('NodeClaim', ({ type, object, previous }) => {
    if (type !== 'deleted' && isInitialized(object) && !isInitialized(previous)) queue.add(nameOf(object));
  });
  return () => {
    stop();
    queue.stop();
  };
}

function isInitialized(claim: NodeClaim | undefined): boolean {
  return isTrue(claim?.status?.conditions, 'Initialized');
}

async function check(context: OperatorContext, name: string): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  if (isDeleting(claim) || !isInitialized(claim)) return undefined;
  const node = nodeOf(context.cache, claim);
  if (node === undefined) return { afterMs: everyMs };
  const change = consistency(claim, node);
  const known = conditionOf(claim.status?.conditions, change.type);
  if (known?.status !== change.status || (known.message ?? '') !== (change.message ?? '')) {
    const decide = ({ metadata: { generation }, status }: NodeClaim): ClaimChange => ({
      status: { conditions: withCondition(status?.conditions, change, { now: context.now(), generation }) },
    });
    await updateClaim(context.kube, identityOf(claim), decide, claim);
  }
  if (change.status === 'False') {
    const event = { type: 'Warning', reason: 'FailedConsistencyCheck', message: change.message ?? '' } as const;
    context.events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  }
  return { afterMs: everyMs };
}
