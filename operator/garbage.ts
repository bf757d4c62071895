import { launchTimeoutMs } from '../core/launch-timeouts.js';
import { finalizers, instanceTags } from '../api/labels.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { isTrue } from '../core/conditions.js';
import type { CloudInstance, NodeClass } from '../cloud/port.js';
import type { ClaimRef, NodeRef } from '../workflows/messages.js';
import { isOrphanedNode, managedClaims, nodeOf } from '../cluster/cluster.js';
import { countDisrupted } from '../cluster/disrupted-metrics.js';
import type { OperatorContext } from './context.js';
import { failuresOf, once } from '../core/at-once.js';
import { lookUp } from '../core/own.js';
import { identityOf } from '../cluster/node-labels.js';
import { deleteLaunchedClaim, getClaim, updateNode } from '../cluster/writes.js';
import { messageOf } from '../core/error-message.js';
import { tagUntagged } from '../cluster/tagging.js';
import type { Kind } from '../kube/port.js';
import type { LeaderLoop, LeaderLoops } from './stuck/leader-loops.js';
import { WorkQueue, type Requeue } from './work-queue.js';

/** How long a new instance is ignored, because its NodeClaim's status may not be written yet. */
const youngestOrphanMs = 30_000;
/** Concurrent requests to the cloud during one collection. */
const atOnce = 10;

interface LostObjects {
  readonly claims: readonly ClaimRef[];
  /** Deleting Nodes without a claim. */
  readonly nodes: readonly NodeRef[];
}

/** An object that could not be collected: the next collection tries again. */
interface GarbageFailure {
  readonly object: string;
  readonly error: string;
}

type Deps = Pick<OperatorContext, 'kube' | 'cache' | 'cloud' | 'log' | 'metrics' | 'now'>;

/**
 * Terminates instances of this cluster without a NodeClaim, and deletes their Nodes. NodeClaims are listed from the API
 * server after the instances, so that the NodeClaim of a listed instance is always found. An instance stays if the
 * NodeClaim in its tag has no provider id yet. An instance without this tag may belong to any NodeClaim that is being
 * launched, and stays until the launch timeout.
 */
export async function collectInstances(
  deps: Deps,
): Promise<{ readonly terminated: readonly string[]; readonly failed: readonly GarbageFailure[] }> {
  const instances = await deps.cloud.list();
  const claims = await deps.kube.list('NodeClaim');
  const orphans = instances.filter(orphanTest(deps, claims));
  const terminated: string[] = [];
  const failed = await each(
    deps,
    orphans,
    async ({ providerId, instanceId, launchedAt }) => {
      await deps.cloud.terminate(providerId);
      deps.log.warn({ instanceId, ageMs: deps.now() - launchedAt }, 'terminated an instance without a NodeClaim');
      terminated.push(instanceId);
      const node = deps.cache.nodeByProviderId(providerId);
      if (node === undefined) return;
      const { name, uid } = identityOf(node);
      await deps.kube.delete('Node', { name }, { uid });
    },
    ({ instanceId }) => `instance ${instanceId}`,
  );
  return { terminated, failed };
}

function orphanTest(
  deps: Pick<OperatorContext, 'now'>,
  claims: readonly NodeClaim[],
): (instance: CloudInstance) => boolean {
  const known = new Set(claims.map(({ status }) => status?.providerID));
  const awaiting = claims.filter(({ status }) => (status?.providerID ?? '') === '');
  const awaitedBy = new Set(awaiting.map(({ metadata }) => metadata.uid));
  const untaggedMs = awaiting.length > 0 ? launchTimeoutMs + youngestOrphanMs : youngestOrphanMs;
  return ({ providerId, launchedAt, state, tags }) => {
    const owner = lookUp(tags, instanceTags.nodeClaimUid);
    const patience = owner === undefined ? untaggedMs : youngestOrphanMs;
    if (state === 'shutting-down' || known.has(providerId) || deps.now() - launchedAt < patience) return false;
    // The API server or Temporal may have been unavailable for longer than a launch takes: the NodeClaim's status will
    // be written now.
    return owner === undefined || !awaitedBy.has(owner);
  };
}

/**
 * Objects that seem to have lost their counterpart: registered NodeClaims whose instance the cloud does not list
 * (garbage-collection/claims-without-instance) or without a Node (garbage-collection/claims-without-node), and deleting
 * Nodes without a NodeClaim whose termination would remove their finalizer. These are only candidates: EC2 may not list
 * an instance for seconds, and the watch cache may lag.
 */
export async function findLost(deps: Deps): Promise<LostObjects> {
  const claims = managedClaims(deps).filter(isLive);
  const alive =
    claims.length === 0 ? new Set() : new Set((await deps.cloud.list()).map(({ providerId }) => providerId));
  return {
    claims: claims
      .filter((claim) => {
        const node = nodeOf(deps.cache, claim);
        return node === undefined || (!alive.has(claim.status?.providerID ?? '') && !isReady(node));
      })
      .map((claim) => identityOf(claim)),
    nodes: deps.cache
      .all('Node')
      .filter((node) => isOrphanedNode(node, deps.cache.all('NodeClaim')))
      .map(identityOf),
  };
}

/**
 * Deletes the NodeClaims and removes the finalizers of the Nodes that are certainly lost, according to the API server
 * and a query of each instance by id. If either does not respond, the object stays.
 */
export async function collectLost(
  deps: Deps,
  lost: LostObjects,
): Promise<{
  readonly claims: readonly string[];
  readonly nodes: readonly string[];
  readonly failed: readonly GarbageFailure[];
}> {
  const claims: string[] = [];
  const nodes: string[] = [];
  const allNodes = once(() => deps.kube.list('Node'));
  const failedClaims = await each(
    deps,
    lost.claims,
    async (ref) => {
      if (await collectClaim(deps, ref, allNodes)) claims.push(ref.name);
    },
    ({ name }) => `NodeClaim ${name}`,
  );
  // Listed after `lost` was determined, once for all.
  const known = lost.nodes.length === 0 ? [] : await deps.kube.list('NodeClaim');
  const failedNodes = await each(
    deps,
    lost.nodes,
    async (ref) => {
      if (await releaseNode(deps, ref, known)) nodes.push(ref.name);
    },
    ({ name }) => `Node ${name}`,
  );
  return { claims, nodes, failed: [...failedClaims, ...failedNodes] };
}

async function collectClaim(deps: Deps, ref: ClaimRef, allNodes: () => Promise<readonly Node[]>): Promise<boolean> {
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined || !isLive(claim)) return false;
  const what = await lossOf(deps, claim, allNodes);
  if (what === undefined || (await deleteLaunchedClaim(deps.kube, ref)) === 'gone') return false;
  deps.log.warn({ nodeClaim: ref.name }, `deleted a NodeClaim whose ${what} is gone`);
  countDisrupted(deps, claim, 'garbage_collected');
  return true;
}

/** What a registered NodeClaim has certainly lost. */
async function lossOf(
  deps: Deps,
  claim: NodeClaim,
  allNodes: () => Promise<readonly Node[]>,
): Promise<'Node' | 'instance' | undefined> {
  const { providerID = '', nodeName } = claim.status ?? {};
  const name = nodeName ?? nodeOf(deps.cache, claim)?.metadata.name;
  const named = name === undefined ? undefined : await deps.kube.get('Node', { name });
  const isOwn = (node: Node | undefined): boolean => node?.spec?.providerID === providerID;
  const node = isOwn(named) ? named : (await allNodes()).find(isOwn);
  if (node === undefined) return 'Node';
  if (isReady(node) || (await deps.cloud.get(providerID)) !== undefined) return undefined;
  return 'instance';
}

/** If its instance exists, it is terminated like all instances without a NodeClaim, and the Node waits for that. */
async function releaseNode(deps: Deps, { name, uid }: NodeRef, claims: readonly NodeClaim[]): Promise<boolean> {
  const node = await deps.kube.get('Node', { name });
  if (node?.metadata.uid !== uid || !isOrphanedNode(node, claims)) return false;
  const providerId = node.spec?.providerID ?? '';
  if (providerId !== '' && (await deps.cloud.get(providerId)) !== undefined) {
    deps.log.info({ node: name, providerId }, 'a Node without a NodeClaim waits for its instance to end');
    return false;
  }
  const released = await updateNode(deps.kube, name, ({ metadata }) =>
    metadata.uid === uid && metadata.finalizers?.includes(finalizers.termination) === true
      ? { metadata: { finalizers: metadata.finalizers.filter((one) => one !== finalizers.termination) } }
      : undefined,
  );
  deps.log.warn({ node: name }, 'removed the finalizer of a Node without NodeClaim and instance');
  return released !== undefined;
}

/** Handles each item; a failure does not affect the others. */
async function each<T>(
  deps: Pick<OperatorContext, 'log'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  nameOf: (item: T) => string,
): Promise<GarbageFailure[]> {
  const failed = await failuresOf(items, work, { atOnce });
  return failed.map(({ item, error }) => {
    const failure = { object: nameOf(item), error: messageOf(error) };
    deps.log.warn(failure, 'could not collect garbage, trying again later');
    return failure;
  });
}

/** A registered NodeClaim that is not being deleted, so that its instance should exist. */
function isLive({ metadata, status }: NodeClaim): boolean {
  return metadata.deletionTimestamp === undefined && isTrue(status?.conditions, 'Registered');
}

const isReady = (node: Node | undefined): boolean => isTrue(node?.status?.conditions, 'Ready');

const everyMs = 2 * 60_000;
const sweepEveryMs = 30 * 60_000;
/**
 * Time between the first and the second check of a lost object. EC2 is eventually consistent and may not list a new
 * instance for some seconds, and the watch cache may lag.
 */
const secondLookMs = 30_000;

const garbage = 'garbage';
const unused = 'launch templates and instance profiles';

/**
 * Collects garbage every two minutes: instances without a NodeClaim, NodeClaims without an instance, Nodes without a
 * NodeClaim, and tags that could not be added at registration. Runs at once when a Node without a claim is deleted,
 * since nothing else removes its finalizer (garbage-collection/nodes-without-claim). Deletes unused launch templates
 * and instance profiles every half hour (launch-templates/unused-are-deleted, node-classes/instance-profiles). No state
 * has to survive a change of leader: the next one checks again.
 */
export function watchGarbage(context: OperatorContext, loops: LeaderLoops): () => void {
  const { cache, log } = context;
  const memory = { suspects: new Suspects(context.now), untaggable: new Set<string>() };
  const queue = new WorkQueue(
    'collecting garbage',
    async (key) => {
      if (key === unused) return round(loops, 'sweepCloud', async () => sweep(context));
      return round(loops, 'collectGarbage', async (failures) => collect(context, memory, failures));
    },
    log,
  );
  const look = (): void => {
    const claims = cache.all('NodeClaim');
    if (cache.all('Node').some((node) => isOrphanedNode(node, claims))) queue.add(garbage);
  };
  const stops = [
    cache.on('Node', ({ type, object, previous }) => {
      const isNews = object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
      if (type !== 'deleted' && isNews) look();
    }),
    // A Node whose claim is deleted first keeps its finalizer from then on.
    cache.on('NodeClaim', ({ type }) => {
      if (type === 'deleted') look();
    }),
  ];
  queue.addAfter(garbage, everyMs);
  queue.addAfter(unused, sweepEveryMs);
  look();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** By UID: when an object was first found lost. */
class Suspects {
  private first: ReadonlyMap<string, number> = new Map();

  constructor(private readonly now: () => number) {}

  /** The objects that were already lost at an earlier check, long enough ago. Objects not in `seen` are dropped. */
  confirmed(seen: Awaited<ReturnType<typeof findLost>>): typeof seen {
    const now = this.now();
    const { first } = this;
    this.first = new Map([...seen.claims, ...seen.nodes].map(({ uid }) => [uid, Math.min(first.get(uid) ?? now, now)]));
    const isOld = ({ uid }: { readonly uid: string }): boolean => now - (first.get(uid) ?? now) >= secondLookMs;
    return { claims: seen.claims.filter(isOld), nodes: seen.nodes.filter(isOld) };
  }
}

/** One round of a loop; records how it ended. */
async function round(
  loops: LeaderLoops,
  loop: LeaderLoop,
  work: (failures: string[]) => Promise<Requeue>,
): Promise<Requeue> {
  const failures: string[] = [];
  try {
    const again = await work(failures);
    await loops.ended(loop, failures);
    return again;
  } catch (error) {
    await loops.ended(loop, [messageOf(error)]);
    throw error;
  }
}

/** Collects garbage, and adds what failed to `failures`. Runs again soon if an object seems lost and is not confirmed yet. */
async function collect(
  context: OperatorContext,
  { suspects, untaggable }: { readonly suspects: Suspects; readonly untaggable: Set<string> },
  failures: string[],
): Promise<Requeue> {
  const instances = await collectInstances(context);
  const lost = await findLost(context);
  const collected = await collectLost(context, suspects.confirmed(lost));
  const tags = await tagUntagged(context, untaggable);
  failures.push(...[...instances.failed, ...collected.failed].map(({ object, error }) => `${object}: ${error}`));
  if (tags.failed !== undefined) failures.push(tags.failed);
  const areLeft = collected.claims.length + collected.nodes.length < lost.claims.length + lost.nodes.length;
  return { afterMs: areLeft ? secondLookMs : everyMs };
}

async function sweep(context: OperatorContext): Promise<Requeue> {
  const { cache, cloud } = context;
  const nodeClasses = cache.all(cloud.nodeClassKind.kind as Kind) as readonly NodeClass[];
  await cloud.sweep?.(nodeClasses, managedClaims(context));
  return { afterMs: sweepEveryMs };
}
