import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { labels } from '../api/labels.js';
import { managedClaims, nodeClassOf, nodeOf } from '../cluster/cluster.js';
import { identityOf, labelsOf } from '../cluster/labels-of.js';
import { updateClaim, updateNode } from '../cluster/writes.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

const everyMs = 60_000;
const reservationId = 'karpenter.k8s.aws/capacity-reservation-id';
const reservationLabels = [
  reservationId,
  'karpenter.k8s.aws/capacity-reservation-type',
  'karpenter.k8s.aws/capacity-reservation-interruptible',
];

/**
 * Follows nodes in capacity reservations, every minute (reserved-capacity/turned-on-demand, reserved-capacity/block-ends): one whose instance runs on demand now is labelled
 * so, one in a capacity block that is about to end is terminated.
 */
export function watchReservations(context: OperatorContext): () => void {
  const queue = new WorkQueue('following a capacity reservation', (name) => reconcile(context, name), context.log, 4);
  const all = (): void => {
    for (const claim of managedClaims(context)) {
      if (labelsOf(claim).capacityType === 'reserved') queue.add(claim.metadata.name ?? '');
    }
  };
  const timer = setInterval(all, everyMs);
  timer.unref();
  all();
  return () => {
    clearInterval(timer);
    queue.stop();
  };
}

/** One reserved claim. Rejects when the cloud or the API server is away. */
export async function reconcile(
  context: Omit<OperatorContext, 'window' | 'workflows'>,
  name: string,
): Promise<undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  const providerId = claim?.status?.providerID ?? '';
  if (claim === undefined || providerId === '' || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (isEnding(context, claim)) {
    context.log.info({ nodeClaim: name }, 'its capacity block ends soon: terminating the node');
    await context.starter.terminate(identityOf(claim), labelsOf(claim).nodePool, 'capacity_block_expiring');
    return undefined;
  }
  const instance = await context.cloud.get(providerId);
  if (instance?.capacityType === 'on-demand') await relabel(context, claim);
  return undefined;
}

/** Whether the node class' status says that the claim's reservation is about to end. */
function isEnding(context: Omit<OperatorContext, 'window' | 'workflows'>, claim: NodeClaim): boolean {
  const id = claim.metadata.labels?.[reservationId];
  const status = nodeClassOf(context, claim.spec.nodeClassRef)?.status as
    { readonly capacityReservations?: readonly { readonly id: string; readonly state?: string }[] } | undefined;
  return status?.capacityReservations?.some((each) => each.id === id && each.state === 'expiring') ?? false;
}

async function relabel(context: Omit<OperatorContext, 'window' | 'workflows'>, claim: NodeClaim): Promise<void> {
  const change = {
    [labels.capacityType]: 'on-demand',
    ...Object.fromEntries(reservationLabels.map((key) => [key, null])),
  };
  const node = nodeOf(context.cache, claim)?.metadata.name;
  await updateClaim(context.kube, identityOf(claim), () => ({ metadata: { labels: change } }));
  if (node !== undefined) await updateNode(context.kube, node, () => ({ metadata: { labels: change } }));
  context.log.info({ nodeClaim: claim.metadata.name, node }, 'the reservation ended: the node runs on demand now');
}
