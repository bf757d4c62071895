import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import type { NodeClass } from '../cloud/port.js';
import { isManaged, nodeClassOf, poolOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/labels-of.js';
import { rolloutHash } from '../cluster/rollout-hash.js';
import { updateClaim } from '../cluster/writes.js';
import { conditionOf, isTrue, withCondition, withoutCondition } from '../core/conditions.js';
import { migratedStamp } from '../core/drift-hash.js';
import { canonicalJson } from '../core/hash.js';
import { templateDrift, typeDrift } from '../disruption/drift.js';
import type { OperatorContext } from './context.js';
import { DisruptNews } from './disrupt-news.js';
import { hasRollouts } from './desired-workflows.js';
import { WorkQueue } from './work-queue.js';

const driftEveryMs = 300_000;
/** A type that was found is looked for again this much later (drift/type-not-found). */
const typeEveryMs = 1_800_000;

const hashes = [
  [annotations.nodePoolHash, annotations.nodePoolHashVersion],
  [annotations.ec2NodeClassHash, annotations.ec2NodeClassHashVersion],
] as const;

/**
 * Writes condition Drifted with Karpenter's reasons, and takes it off what has not drifted any more (drift/when-it-is-looked-for): every
 * five minutes, and when a claim is launched or its pool or node class changes. `disrupt` is told.
 */
export function watchDrift(context: OperatorContext): () => void {
  const { cache, cloud, log } = context;
  const types = new Map<string, number>();
  const rollouts = new Map<string, string>();
  const news = new DisruptNews(context, 'drift');
  const known = { types, rollouts, changed: () => news.tell() };
  const queue = new WorkQueue('looking for drift', (name) => reconcile(context, name, known), log, 4);
  const all = (): void => cache.all('NodeClaim').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (type === 'deleted') types.delete(object.metadata.uid ?? '');
      else if (previous === undefined || readOf(previous) !== readOf(object)) queue.add(object.metadata.name ?? '');
    }),
    cache.on('NodePool', ({ type, object, previous }) => {
      if (type !== 'deleted' && (previous === undefined || contentOf(previous) !== contentOf(object))) all();
    }),
    cache.on(cloud.nodeClassKind.kind as 'EC2NodeClass', ({ type, object, previous }) => {
      if (type !== 'deleted' && (previous === undefined || resolvedOf(previous) !== resolvedOf(object))) all();
    }),
  ];
  const timer = setInterval(all, driftEveryMs);
  all();
  return () => {
    clearInterval(timer);
    news.stop();
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** What detection reads of a claim; its own writes are no reason to look again. */
function readOf({ metadata, status }: NodeClaim): string {
  return canonicalJson([
    metadata.labels,
    hashes.flat().map((key) => metadata.annotations?.[key]),
    isTrue(status?.conditions, 'Launched'),
    status?.imageID,
  ]);
}

/** The hash is written a moment after the template has changed. */
function contentOf({ metadata }: NodePool | NodeClass): string {
  return canonicalJson([metadata.generation, hashes.flat().map((key) => metadata.annotations?.[key])]);
}

/** Images, subnets and groups of a node class change without a change of its spec. */
function resolvedOf(nodeClass: NodeClass): string {
  return contentOf(nodeClass) + canonicalJson({ ...nodeClass.status, conditions: undefined });
}

/** What is kept between looks, and who hears of changes. */
interface Known {
  readonly types: Map<string, number>;
  readonly rollouts: Map<string, string>;
  readonly changed: () => void;
}

async function reconcile(
  context: OperatorContext,
  name: string,
  { types, rollouts, changed }: Known,
): Promise<undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  if (claim.metadata.deletionTimestamp !== undefined || !isTrue(claim.status?.conditions, 'Launched')) return undefined;
  const pool = poolOf(context.cache, claim);
  const nodeClass = nodeClassOf(context, claim.spec.nodeClassRef);
  if (pool === undefined || nodeClass === undefined) return undefined;
  if (await migrated(context, claim, pool, nodeClass)) return undefined;
  const reason =
    templateDrift(claim, pool) ??
    (await missingType(context, { claim, pool, nodeClass }, types)) ??
    (await context.cloud.drift(claim, pool, nodeClass));
  const known = conditionOf(claim.status?.conditions, 'Drifted');
  if (known?.reason !== reason) {
    await write(context, claim, reason);
    changed();
  }
  if (reason !== undefined) await tellOlderRollout(context, pool, nodeClass, rollouts);
  return undefined;
}

async function write(context: OperatorContext, claim: NodeClaim, reason: string | undefined): Promise<void> {
  const at = { now: context.now(), generation: claim.metadata.generation };
  await updateClaim(context.kube, identityOf(claim), ({ status }) => ({
    status: {
      conditions:
        reason === undefined
          ? withoutCondition(status?.conditions, 'Drifted')
          : withCondition(status?.conditions, { type: 'Drifted', status: 'True', reason, message: reason }, at),
    },
  }));
  context.log.info({ nodeClaim: claim.metadata.name, reason: reason ?? 'none' }, 'drift changed');
}

/** The rollout of what the pool's nodes were to become before learns that it is something else by now. */
async function tellOlderRollout(
  context: OperatorContext,
  pool: NodePool,
  nodeClass: NodeClass,
  rollouts: Map<string, string>,
): Promise<void> {
  if (!hasRollouts(pool, context.cache.all('DisruptionPolicy'))) return;
  const { uid } = identityOf(pool);
  const hash = rolloutHash(pool, nodeClass);
  const before = rollouts.get(uid);
  if (before !== undefined && before !== hash) await context.starter.rolloutChanged(uid, before);
  rollouts.set(uid, hash);
}

/** A catalogue that cannot be had says nothing. */
async function missingType(
  { cloud, now, log }: OperatorContext,
  { claim, pool, nodeClass }: { claim: NodeClaim; pool: NodePool; nodeClass: NodeClass },
  passed: Map<string, number>,
): Promise<string | undefined> {
  const uid = claim.metadata.uid ?? '';
  if (now() - (passed.get(uid) ?? Number.NEGATIVE_INFINITY) < typeEveryMs) return undefined;
  try {
    const reason = typeDrift(claim, await cloud.instanceTypes(pool, nodeClass), now());
    if (reason === undefined) passed.set(uid, now());
    return reason;
  } catch (error) {
    log.debug({ nodeClaim: claim.metadata.name, error: String(error) }, 'cannot tell whether the type is offered');
    return undefined;
  }
}

/** A hash of another version says nothing: it is written anew, unless the claim had drifted (node-pools/hash-version). */
async function migrated(
  context: OperatorContext,
  claim: NodeClaim,
  pool: NodePool,
  nodeClass: NodeClass,
): Promise<boolean> {
  const drifted = isTrue(claim.status?.conditions, 'Drifted');
  const written: Record<string, string> = {};
  for (const [index, [hashKey, versionKey]] of hashes.entries()) {
    const source = index === 0 ? pool : nodeClass;
    const stampOf = ({ metadata }: Pick<NodeClass, 'metadata'>) => ({
      hash: metadata.annotations?.[hashKey],
      version: metadata.annotations?.[versionKey],
    });
    const current = stampOf(source);
    if (current.hash === undefined || current.version === undefined) continue;
    const stamp = migratedStamp(stampOf(claim), current, drifted);
    if (stamp?.version !== undefined) written[versionKey] = stamp.version;
    if (stamp?.hash !== undefined) written[hashKey] = stamp.hash;
  }
  if (Object.keys(written).length === 0) return false;
  await updateClaim(context.kube, identityOf(claim), () => ({ metadata: { annotations: written } }));
  return true;
}
