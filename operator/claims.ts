import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { finalizers } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { parseNillableDuration } from '../core/durations.js';
import { isManaged } from '../activities/cluster.js';
import { identityOf, labelsOf } from '../activities/labels-of.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';

/** `provision` starts the launch of a claim that it creates, and says who waits for it: leave it this long. */
const provisionsOwnMs = 5000;
/** A drain that somebody cancelled or terminated is begun again: a claim that is deleted has to go. */
const terminateAgainMs = 60_000;

/** When the workflow of a step was last asked for, by step and claim; milliseconds of the epoch. */
interface Settled {
  readonly settled: Map<string, number>;
  /** How soon a drain is asked for again. */
  readonly againMs: number;
}

/**
 * Starts and signals the workflows of claims: `launchNode` for those without a node, `terminateNode` for those being
 * deleted, `rotateExpired` once initialized. At start this finds every claim and its node, so what was missed is made up for.
 */
export function watchClaims(context: OperatorContext, againMs = terminateAgainMs): () => void {
  const { cache, log } = context;
  const settled = new Map<string, number>();
  const queue = new WorkQueue(
    'starting the workflows of a NodeClaim',
    (name) => reconcile(context, name, { settled, againMs }),
    log,
  );
  const nodes = new WorkQueue('telling a launch of its node', (uid) => tellLaunch(context, uid), log);
  /** A node may be there before anybody watches it: before the operator starts, or the claim knows its instance. */
  const tellOfNode = (claim: NodeClaim): void => {
    const { providerID } = claim.status ?? {};
    if (providerID === undefined || isTrue(claim.status?.conditions, 'Initialized')) return;
    if (!isManaged(context, claim.spec.nodeClassRef)) return;
    if (cache.nodeByProviderId(providerID) !== undefined) nodes.add(claim.metadata.uid ?? '');
  };
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      const { name, uid } = identityOf(object);
      if (type === 'deleted') {
        for (const step of ['launch', 'expire', 'terminate']) settled.delete(`${step}/${uid}`);
        return;
      }
      queue.add(name);
      if (previous?.status?.providerID !== object.status?.providerID) tellOfNode(object);
      if (previous !== undefined && becameInitialized(previous, object)) queueDisrupt(context, log);
    }),
    cache.on('Node', ({ type, object, previous }) => {
      const claim = cache.nodeClaimByProviderId(object.spec?.providerID ?? '');
      if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return;
      const { name, uid } = identityOf(claim);
      if (isDeleting(object)) queue.add(name);
      const changed = type === 'deleted' || previous === undefined || readiness(previous) !== readiness(object);
      if (changed && !isTrue(claim.status?.conditions, 'Initialized')) nodes.add(uid);
      // Nodes that a claim's own deletion waits for are watched by the drain itself.
    }),
  ];
  for (const claim of cache.all('NodeClaim')) {
    queue.add(claim.metadata.name ?? '');
    tellOfNode(claim);
  }
  return () => {
    for (const stop of stops) stop();
    queue.stop();
    nodes.stop();
  };
}

async function reconcile(context: OperatorContext, name: string, settled: Settled): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  if (claim.metadata.deletionTimestamp !== undefined) return terminate(context, claim, settled);
  if (await followNode(context, claim)) return undefined;
  return isTrue(claim.status?.conditions, 'Initialized')
    ? expire(context, claim, settled)
    : launch(context, claim, settled);
}

/**
 * Once for each claim, and now and then while it is there: its `terminateNode` runs already, unless somebody ended it.
 */
async function terminate(
  { starter, now }: OperatorContext,
  claim: NodeClaim,
  { settled, againMs }: Settled,
): Promise<Requeue | undefined> {
  const { name, uid } = identityOf(claim);
  if (claim.metadata.finalizers?.includes(finalizers.termination) !== true) return undefined;
  const step = `terminate/${uid}`;
  const askedAt = settled.get(step);
  const rest = askedAt === undefined ? 0 : askedAt + againMs - now();
  if (rest > 0) return { afterMs: rest };
  await starter.terminate({ name, uid }, labelsOf(claim).nodePool, 'deleted');
  if (askedAt === undefined) await starter.claimChanged(uid);
  settled.set(step, now());
  return { afterMs: againMs };
}

/** `kubectl delete node` means the whole of it: the claim goes too (section 4.14). */
async function followNode(context: OperatorContext, claim: NodeClaim): Promise<boolean> {
  const node = context.cache.nodeByProviderId(claim.status?.providerID ?? '');
  if (node === undefined || !isDeleting(node)) return false;
  const { name, uid } = identityOf(claim);
  await context.kube.delete('NodeClaim', { name }, { uid });
  context.log.info(
    { nodeClaim: name, node: node.metadata.name },
    'deleting a NodeClaim because its Node is being deleted',
  );
  return true;
}

async function launch(context: OperatorContext, claim: NodeClaim, { settled }: Settled): Promise<Requeue | undefined> {
  const { name, uid } = identityOf(claim);
  if (settled.has(`launch/${uid}`)) return undefined;
  const age = context.now() - Date.parse(claim.metadata.creationTimestamp ?? '');
  if (age < provisionsOwnMs) return { afterMs: provisionsOwnMs - Math.max(0, age) + 100 };
  await context.starter.launch({ name, uid }, labelsOf(claim).nodePool);
  settled.set(`launch/${uid}`, context.now());
  return undefined;
}

async function expire(context: OperatorContext, claim: NodeClaim, { settled }: Settled): Promise<undefined> {
  const { name, uid } = identityOf(claim);
  const after = parseNillableDuration(claim.spec.expireAfter, 'expireAfter');
  if (!Number.isFinite(after) || settled.has(`expire/${uid}`)) return undefined;
  const expiresAt = Date.parse(claim.metadata.creationTimestamp ?? '') + after;
  await context.starter.expire({ name, uid }, labelsOf(claim).nodePool, expiresAt);
  settled.set(`expire/${uid}`, context.now());
  return undefined;
}

async function tellLaunch({ starter }: OperatorContext, uid: string): Promise<undefined> {
  await starter.nodeChanged(uid);
  return undefined;
}

function queueDisrupt(context: OperatorContext, log: OperatorContext['log']): void {
  context.starter.disrupt().catch((error: unknown) => log.debug({ error: String(error) }, 'could not signal disrupt'));
}

function becameInitialized(before: NodeClaim, after: NodeClaim): boolean {
  return !isTrue(before.status?.conditions, 'Initialized') && isTrue(after.status?.conditions, 'Initialized');
}

function isDeleting({ metadata }: Node): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** What registration and initialization read of a node: heartbeats change none of it. */
function readiness({ metadata, spec, status }: Node): string {
  return JSON.stringify([
    metadata.labels,
    spec?.taints,
    status?.allocatable,
    status?.conditions?.map(({ type, status: value }) => [type, value]),
  ]);
}
