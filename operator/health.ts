import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations } from '../api/labels.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import { conditionToRepair, repairStartsIn } from '../disruption/repair/repair.js';
import type { OperatorContext } from './context.js';
import { nameOf } from '../core/names.js';
import { WorkQueue, type Requeue } from './work-queue.js';

/**
 * Starts `repairNode` for nodes whose conditions report a fault, and signals it when they change (repair/policies, gate
 * NodeRepair). The conditions show the current state, so at start every node is checked.
 */
export function watchHealth(context: OperatorContext): () => void {
  if (!context.gates.NodeRepair || (context.cloud.repairPolicies ?? []).length === 0) return () => undefined;
  const { cache, log } = context;
  /** By UID of the claim: the state last signalled. */
  const signalled = new Map<string, string>();
  const queue = new WorkQueue('starting the repair of a node', (name) => checkNode(context, name, signalled), log);
  const stops = [
    cache.on('Node', ({ type, object }) => {
      if (type === 'deleted') return;
      const name = cache.nodeClaimByProviderId(object.spec?.providerID ?? '')?.metadata.name;
      if (name !== undefined) queue.add(name);
    }),
    cache.onEach('NodeClaim', ({ type, object }) => {
      if (type === 'deleted') signalled.delete(object.metadata.uid ?? '');
      // A declined repair may be withdrawn.
      else queue.add(nameOf(object));
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

async function checkNode(
  context: OperatorContext,
  name: string,
  signalled: Map<string, string>,
): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isRepairable(context, claim)) return undefined;
  const declined = claim.metadata.annotations?.[annotations.repairDeclined];
  const found = conditionToRepair(nodeOf(context.cache, claim), context.cloud.repairPolicies ?? [], declined);
  const afterMs = found === undefined ? 0 : repairStartsIn(found, context.now());
  if (afterMs > 0) return { afterMs };
  const now = found === undefined ? '' : `${found.type}=${found.status} since ${found.since}`;
  const own = identityOf(claim);
  if ((signalled.get(own.uid) ?? '') === now) return undefined;
  if (found === undefined) await context.starter.recovered(own.uid);
  else await context.starter.repair(own, labelsOf(claim).nodePool);
  signalled.set(own.uid, now);
  return undefined;
}

function isRepairable(context: OperatorContext, { metadata, spec, status }: NodeClaim): boolean {
  if (metadata.deletionTimestamp !== undefined || !isManaged(context, spec.nodeClassRef)) return false;
  return isTrue(status?.conditions, 'Registered');
}
