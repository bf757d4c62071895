import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim } from '../cluster/writes.js';
import { conditionOf, isTrue, withCondition } from '../core/conditions.js';
import type { ConditionChange } from '../core/conditions.js';
import { shortfalls } from '../core/node-shape.js';
import { formatResource } from '../core/quantities.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';
import { regarding } from '../core/regarding.js';

const everyMs = 600_000;

/** Writes ConsistentStateFound (registration/consistency): once a node is initialized and every ten minutes from then on. */
export function watchConsistency(context: OperatorContext): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('checking a node against its NodeClaim', (name) => check(context, name), log);
  const stop = cache.onEach('NodeClaim', ({ type, object, previous }) => {
    if (type !== 'deleted' && isInitialized(object) && !isInitialized(previous)) queue.add(object.metadata.name ?? '');
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
  if (claim.metadata.deletionTimestamp !== undefined || !isInitialized(claim)) return undefined;
  const node = nodeOf(context.cache, claim);
  if (node === undefined) return { afterMs: everyMs };
  const change = consistency(claim, node);
  const known = conditionOf(claim.status?.conditions, change.type);
  if (known?.status !== change.status || (known.message ?? '') !== (change.message ?? '')) {
    await updateClaim(context.kube, identityOf(claim), (live) => ({
      status: {
        conditions: withCondition(live.status?.conditions, change, {
          now: context.now(),
          generation: live.metadata.generation,
        }),
      },
    }));
  }
  if (change.status === 'False') {
    const event = { type: 'Warning', reason: 'FailedConsistencyCheck', message: change.message ?? '' } as const;
    context.events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  }
  return { afterMs: everyMs };
}

function consistency({ spec, status }: NodeClaim, node: Node): ConditionChange {
  const type = 'ConsistentStateFound';
  const short = shortfalls(spec.resources?.requests, status?.capacity, node.status?.capacity);
  if (short.length === 0) return { type, status: 'True' };
  const message = short.map(({ resource, expected, found }) => {
    const share = ((found / expected) * 100).toFixed(1);
    const [wanted, there] = [expected, found].map((amount) => formatResource(resource, amount));
    return `expected ${wanted} of resource ${resource}, but found ${there} (${share}% of expected)`;
  });
  return { type, status: 'False', reason: 'ConsistencyCheckFailed', message: message.join(', ') };
}
