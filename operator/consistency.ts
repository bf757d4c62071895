import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim } from '../cluster/writes.js';
import { conditionOf, isTrue, withCondition, type ConditionChange } from '../core/conditions.js';
import { formatResource, parseResources } from '../core/quantities.js';
import type { OperatorContext } from './context.js';
import { WorkQueue, type Requeue } from './work-queue.js';
import { regarding } from '../core/events.js';
import { lookUp } from '../core/own.js';
import { nameOf, isDeleting } from '../core/names.js';

const everyMs = 600_000;

/**
 * Writes ConsistentStateFound (registration/consistency): when a node is initialized, and every ten minutes afterwards.
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

/** Minimum share of the expected capacity that a node must have (registration/consistency). */
const leastShare = 0.9;

/** A resource of which a node has less than expected. Amounts are in the units of core/quantities.ts. */
interface Shortfall {
  readonly resource: string;
  readonly expected: number;
  readonly found: number;
}

/**
 * The requested resources of which the node's capacity falls short (registration/consistency). Resources that are not
 * requested, or not known for the type, are ignored.
 */
export function shortfalls(
  requested: Readonly<Record<string, string>> | undefined,
  expected: Readonly<Record<string, string>> | undefined,
  found: Readonly<Record<string, string>> | undefined,
): readonly Shortfall[] {
  const promised = parseResources(expected);
  const there = parseResources(found);
  return Object.entries(parseResources(requested))
    .filter(([, amount]) => amount > 0)
    .map(([resource]) => ({ resource, expected: lookUp(promised, resource) ?? 0, found: lookUp(there, resource) ?? 0 }))
    .filter((each) => each.expected > 0 && each.found < each.expected * leastShare);
}
