import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { labels } from '../api/labels.js';
import { managedClaims, nodeClassOf, nodeOf } from '../cluster/cluster.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import { updateClaim, updateNode } from '../cluster/writes.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import { nameOf, isDeleting } from '../core/names.js';

const everyMs = 60_000;
const reservationId = 'karpenter.k8s.aws/capacity-reservation-id';
const reservationLabels = [
  reservationId,
  'karpenter.k8s.aws/capacity-reservation-type',
  'karpenter.k8s.aws/capacity-reservation-interruptible',
];

/**
 * Checks nodes in capacity reservations every minute (reserved-capacity/turned-on-demand,
 * reserved-capacity/block-ends): a node whose instance now runs on demand is labelled so; one in a capacity block that
 * is about to end is terminated.
 */
export function watchReservations(context: OperatorContext): () => void {
  const queue = new WorkQueue(
    'following a capacity reservation',
    (name) => followReservation(context, name),
    context.log,
    4,
  );
  const all = (): void => reservedClaims(context).forEach((name) => queue.add(name));
  const timer = setInterval(all, everyMs);
  timer.unref();
  all();
  return () => {
    clearInterval(timer);
    queue.stop();
  };
}

/**
 * Claims that are reserved by their labels, or by those of their node: one may have been relabelled without the other.
 */
export function reservedClaims(context: Pick<OperatorContext, 'cache' | 'cloud'>): readonly string[] {
  return managedClaims(context)
    .filter((claim) =>
      [claim, nodeOf(context.cache, claim)].some((each) => each?.metadata.labels?.[labels.capacityType] === 'reserved'),
    )
    .map(nameOf);
}

type Following = Omit<OperatorContext, 'window' | 'workflows'>;

/** Checks one reserved claim. Rejects if the cloud or the API server is unavailable. */
export async function followReservation(context: Following, name: string): Promise<undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  const providerId = claim?.status?.providerID ?? '';
  if (claim === undefined || providerId === '' || isDeleting(claim)) return undefined;
  if (await isEnding(context, claim)) {
    context.log.info({ nodeClaim: name }, 'its capacity block ends soon: terminating the node');
    await context.starter.terminate(identityOf(claim), labelsOf(claim).nodePool, 'capacity_block_expiring');
    return undefined;
  }
  const instance = await context.cloud.get(providerId);
  if (instance?.capacityType === 'on-demand') await relabel(context, claim);
  return undefined;
}

/**
 * By the node class's status if it has the claim's reservation; the cloud is asked about a reservation that is no
 * longer selected.
 */
async function isEnding(context: Following, claim: NodeClaim): Promise<boolean> {
  const id = claim.metadata.labels?.[reservationId];
  if (id === undefined) return false;
  const status = nodeClassOf(context, claim.spec.nodeClassRef)?.status as
    { readonly capacityReservations?: readonly { readonly id: string; readonly state?: string }[] } | undefined;
  const known = status?.capacityReservations?.find((each) => each.id === id);
  if (known !== undefined) return known.state === 'expiring';
  return (await context.cloud.isReservationEnding?.(id)) ?? false;
}

/** The node first: if this fails, it is found again by the labels of its claim. */
async function relabel(context: Following, claim: NodeClaim): Promise<void> {
  const change = {
    [labels.capacityType]: 'on-demand',
    ...Object.fromEntries(reservationLabels.map((key) => [key, null])),
  };
  const node = nodeOf(context.cache, claim)?.metadata.name;
  if (node !== undefined) await updateNode(context.kube, node, () => ({ metadata: { labels: change } }));
  await updateClaim(context.kube, identityOf(claim), () => ({ metadata: { labels: change } }));
  context.log.info({ nodeClaim: claim.metadata.name, node }, 'the reservation ended: the node runs on demand now');
}
