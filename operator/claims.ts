import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Taint } from '../api/kubernetes.js';
import { taints as knownTaints } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { isKnownEphemeral, isSameTaint } from '../core/taints.js';
import { isManaged, isUnregistered } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';
import { isDeleting, nameOf } from '../core/names.js';

/**
 * Several components write to a node while it joins: one signal to the launch suffices for changes within this time. A
 * node that is not Ready yet, or still has the taint of that, may become so soon; it is then registered and initialized
 * in one step (registration/in-one-step).
 */
const collectMs = { ready: 200, notReady: 2000 };

/**
 * Follows NodeClaims and their Nodes: on changes the reconciler checks the claim, and workflows that wait for it are
 * signalled. The reconciler decides which workflows a claim needs (`workflow-reconciler.ts`).
 */
export function watchClaims(context: OperatorContext, signalDisrupt: () => void): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('following a NodeClaim', (name) => reconcile(context, name), log);
  const nodes = new WorkQueue('signalling a launch that its Node changed', (name) => signalLaunch(context, name), log);
  const expirations = new WorkQueue(
    'signalling an expiration that its NodeClaim is deleted',
    (uid) => signalExpiration(context, uid),
    log,
  );
  /** A node may exist before it is watched: before the operator starts, or before the claim has its instance id. */
  const queueSignal = (claim: NodeClaim): void => {
    const { providerID } = claim.status ?? {};
    if (providerID === undefined || isTrue(claim.status?.conditions, 'Initialized')) return;
    if (!isManaged(context, claim.spec.nodeClassRef)) return;
    const node = cache.nodeByProviderId(providerID);
    if (node !== undefined) nodes.addAfter(nameOf(claim), collectFor(node));
  };
  const stops = [
    cache.onEach('NodeClaim', ({ type, object, previous }) => {
      if (type === 'deleted') return;
      const { name, uid } = identityOf(object);
      queue.add(name);
      if (isDeleting(object) && (previous === undefined || !isDeleting(previous))) expirations.add(uid);
      if (previous?.status?.providerID !== object.status?.providerID) queueSignal(object);
      if (previous !== undefined && becameInitialized(previous, object)) signalDisrupt();
    }),
    cache.on('Node', ({ type, object, previous }) => {
      const claim = cache.nodeClaimByProviderId(object.spec?.providerID ?? '');
      if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return;
      const name = nameOf(claim);
      if (isDeleting(object) || (type !== 'deleted' && isUnregistered(object, claim))) queue.add(name);
      const changed = type === 'deleted' || previous === undefined || readiness(previous) !== readiness(object);
      if (changed && !isTrue(claim.status?.conditions, 'Initialized')) nodes.addAfter(name, collectFor(object));
      // Nodes of a deleting claim are watched by the drain.
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    for (const each of [queue, nodes, expirations]) each.stop();
  };
}

async function reconcile(context: OperatorContext, name: string): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  return context.workflows.claimChanged(claim);
}

/** Once the node is initialized no launch waits for it: pending changes are not signalled. */
async function signalLaunch({ cache, starter }: OperatorContext, name: string): Promise<undefined> {
  const claim = cache.get('NodeClaim', { name });
  if (claim === undefined || isTrue(claim.status?.conditions, 'Initialized')) return undefined;
  await starter.nodeChanged(claim.metadata.uid ?? '');
  return undefined;
}

/** Signals an expiration that its claim is being deleted, so that it ends. */
async function signalExpiration({ starter }: OperatorContext, uid: string): Promise<undefined> {
  await starter.claimChanged(uid);
  return undefined;
}

function becameInitialized(before: NodeClaim, after: NodeClaim): boolean {
  return !isTrue(before.status?.conditions, 'Initialized') && isTrue(after.status?.conditions, 'Initialized');
}

/** The fields of a Node that registration and initialization wait for, excluding heartbeats and their own writes. */
const readiness = (node: Node): string =>
  JSON.stringify([taintsOf(node), node.status?.allocatable, isTrue(node.status?.conditions, 'Ready')]);

const collectFor = (node: Node): number =>
  collectMs[isTrue(node.status?.conditions, 'Ready') && !taintsOf(node).some(isKnownEphemeral) ? 'ready' : 'notReady'];

const taintsOf = ({ spec }: Node): readonly Taint[] =>
  spec?.taints?.filter((taint) => !isSameTaint(taint, knownTaints.unregistered)) ?? [];
