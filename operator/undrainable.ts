import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { PodDisruptionBudget } from '../api/kubernetes.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim } from '../cluster/writes.js';
import { compareText } from '../core/text.js';
import { conditionOf, isTrue, withCondition, withoutCondition } from '../core/conditions.js';
import { undrainablePods } from '../core/pod-disruption-budgets.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import { regarding } from '../core/events.js';
import { nameOf, isDeleting } from '../core/names.js';

/** Condition for pods of a NodeClaim's node that block every disruption until a user changes something. */
const type = 'DisruptionBlocked';
const reason = 'PodDisruptionBudget';
const mostPods = 3;
/** Budgets change with every pod that they select: changes within this time trigger one check of all claims. */
const settleMs = 5000;

/**
 * Reports on each NodeClaim, before any disruption starts, which pods of its node can never be evicted, and because of
 * which PodDisruptionBudget: condition `DisruptionBlocked`, and an event with that reason on claim and node.
 */
export function watchUndrainable(context: OperatorContext): () => void {
  const { cache, log } = context;
  const claims = new WorkQueue('writing DisruptionBlocked', (name) => checkClaim(context, name), log, 4);
  const all = new WorkQueue(
    'looking for pods that can never be evicted',
    () => {
      for (const { metadata } of cache.all('NodeClaim')) claims.add(metadata.name ?? '');
      return Promise.resolve(undefined);
    },
    log,
  );
  const later = (): void => all.addAfter('all', settleMs);
  const stops = [
    cache.on('PodDisruptionBudget', ({ type: change, object, previous }) => {
      if (change !== 'modified' || previous === undefined || bound(previous) !== bound(object)) later();
    }),
    cache.on('Pod', ({ object, previous }) => {
      const nodeName = object.spec.nodeName ?? '';
      const isKnown = previous?.spec.nodeName === nodeName && isDeleting(previous) === isDeleting(object);
      if (nodeName === '' || isKnown) return;
      const name = cache.nodeClaimByProviderId(cache.get('Node', { name: nodeName })?.spec?.providerID ?? '');
      if (name !== undefined) claims.addAfter(nameOf(name), settleMs);
    }),
    // Pods are bound before their node is initialized.
    cache.on('NodeClaim', ({ type: change, object, previous }) => {
      if (change !== 'deleted' && isInitialized(object) && !isInitialized(previous))
        claims.addAfter(nameOf(object), settleMs);
    }),
  ];
  later();
  return () => {
    for (const stop of stops) stop();
    claims.stop();
    all.stop();
  };
}

/** The fields that decide whether a budget can ever allow an eviction, without those that change often. */
function bound({ spec, status }: PodDisruptionBudget): string {
  return JSON.stringify([spec, status?.desiredHealthy, status?.expectedPods]);
}

const isInitialized = (claim: NodeClaim | undefined): boolean => isTrue(claim?.status?.conditions, 'Initialized');

async function checkClaim(context: OperatorContext, name: string): Promise<undefined> {
  const { cache } = context;
  const claim = cache.get('NodeClaim', { name });
  if (claim === undefined || isDeleting(claim)) return undefined;
  if (!isManaged(context, claim.spec.nodeClassRef) || !isInitialized(claim)) return undefined;
  const message = whyUndrainable(context, claim);
  const known = conditionOf(claim.status?.conditions, type);
  if ((known?.message ?? '') === (message ?? '')) return undefined;
  await updateClaim(context.kube, identityOf(claim), ({ status, metadata }) => ({
    status: {
      conditions:
        message === undefined
          ? withoutCondition(status?.conditions, type)
          : withCondition(
              status?.conditions,
              { type, status: 'True', reason, message },
              { now: context.now(), generation: metadata.generation },
            ),
    },
  }));
  if (message !== undefined) publish(context, claim, message);
  return undefined;
}

function whyUndrainable({ cache }: OperatorContext, claim: NodeClaim): string | undefined {
  const node = nodeOf(cache, claim)?.metadata.name;
  if (node === undefined) return undefined;
  const found = undrainablePods(cache.podsOnNode(node), cache.all('PodDisruptionBudget'));
  if (found.length === 0) return undefined;
  const texts = [...found]
    .sort((a, b) => compareText(a.pod, b.pod))
    .slice(0, mostPods)
    .map(
      ({ pod, budgets, why }) => `pod ${pod} can never be evicted: PodDisruptionBudget ${budgets.join(', ')}: ${why}`,
    );
  const more = found.length > mostPods ? `; and ${found.length - mostPods} more` : '';
  return `${texts.join('; ')}${more}`;
}

function publish({ cache, events }: OperatorContext, claim: NodeClaim, message: string): void {
  const event = { type: 'Normal', reason: 'DisruptionBlocked', message } as const;
  events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  const name = nodeOf(cache, claim)?.metadata.name;
  if (name !== undefined) events.publish({ ...event, regarding: regarding('Node', { name }) });
}
