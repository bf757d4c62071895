import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { NodeClass } from '../cloud/port.js';
import { isManaged, nodeClassOf, poolOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { rolloutHash } from '../cluster/rollout-hash.js';
import { updateClaim } from '../cluster/writes.js';
import { conditionOf, isTrue, withCondition, withoutCondition } from '../core/conditions.js';
import { canonicalJson } from '../core/hash.js';
import { lookUp } from '../core/own.js';
import { driftOf, hashAnnotations, mayDrift, migratedHashes } from '../disruption/drift/drift.js';
import type { InstanceType } from '../core/instance-type.js';
import type { OperatorContext } from './context.js';
import { hasRollouts } from './desired-for-pool.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import { isDeleting, nameOf } from '../core/names.js';

const driftEveryMs = 300_000;
/** The type of a claim is checked again this long after it was found (drift/type-not-found). */
const typeEveryMs = 1_800_000;

/**
 * Writes condition Drifted with Karpenter's reasons, and removes it when a claim is no longer drifted
 * (drift/when-it-is-detected): every five minutes, and when a claim is launched or its pool or node class changes.
 * Signals `disrupt`.
 */
export function watchDrift(context: OperatorContext, signalDisrupt: () => void): () => void {
  const { cache, cloud, log } = context;
  const types = new Map<string, number>();
  const rollouts = new Map<string, string>();
  const known = { types, rollouts, changed: signalDisrupt };
  const reconciling = reportingRefusals(context, 'NodeClaim', (name) => reconcile(context, name, known));
  const queue = new WorkQueue('looking for drift', reconciling, log, 4);
  const all = (): void => cache.all('NodeClaim').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const stops = [
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (type === 'deleted') types.delete(object.metadata.uid ?? '');
      else if (previous === undefined || driftInputOf(previous) !== driftInputOf(object)) queue.add(nameOf(object));
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
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** The fields of a claim that detection reads, so that its own writes do not trigger it. */
function driftInputOf({ metadata, status }: NodeClaim): string {
  return canonicalJson([
    metadata.labels,
    hashAnnotations.map((key) => lookUp(metadata.annotations, key)),
    isTrue(status?.conditions, 'Launched'),
    status?.imageID,
  ]);
}

/** The hash is written shortly after the template has changed. */
function contentOf({ metadata }: NodePool | NodeClass): string {
  return canonicalJson([metadata.generation, hashAnnotations.map((key) => lookUp(metadata.annotations, key))]);
}

/** Images, subnets and groups of a node class change without a change of its spec. */
function resolvedOf(nodeClass: NodeClass): string {
  return contentOf(nodeClass) + canonicalJson({ ...nodeClass.status, conditions: undefined, updates: undefined });
}

/** State between checks, and the targets of signals. */
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
  if (!mayDrift(claim)) return undefined;
  const pool = poolOf(context.cache, claim);
  const nodeClass = nodeClassOf(context, claim.spec.nodeClassRef);
  if (pool === undefined || nodeClass === undefined) return undefined;
  if (await migrated(context, claim, pool, nodeClass)) return undefined;
  const catalogue = new Catalogue(context, { claim, pool, nodeClass }, types);
  const sources = {
    pool,
    catalogue: () => catalogue.read(),
    // A deleting node class causes no drift, since nothing could be launched from it (drift/node-class).
    provider: async () => (isDeleting(nodeClass) ? undefined : context.cloud.drift(claim, pool, nodeClass)),
  };
  const reason = await driftOf(claim, sources, context.now());
  catalogue.settle(reason);
  const known = conditionOf(claim.status?.conditions, 'Drifted');
  if (known?.reason !== reason) {
    await write(context, claim, reason);
    changed();
  }
  if (reason !== undefined) await signalOlderRollout(context, pool, nodeClass, rollouts);
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

/** Signals the rollout of the pool's previous template that the template has changed. */
async function signalOlderRollout(
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

/**
 * The instance types of the pool: read seldom if they contain the claim's type. A catalogue that cannot be read means
 * no drift.
 */
class Catalogue {
  private isRead = false;

  constructor(
    private readonly context: OperatorContext,
    private readonly of: { readonly claim: NodeClaim; readonly pool: NodePool; readonly nodeClass: NodeClass },
    private readonly passed: Map<string, number>,
  ) {}

  private get uid(): string {
    return identityOf(this.of.claim).uid;
  }

  async read(): Promise<readonly InstanceType[] | undefined> {
    const { cloud, now, log } = this.context;
    const { claim, pool, nodeClass } = this.of;
    const age = now() - (this.passed.get(this.uid) ?? Number.NEGATIVE_INFINITY);
    // If the clock was set back, the age is unknown.
    if (age >= 0 && age < typeEveryMs) return undefined;
    try {
      const types = await cloud.instanceTypes(pool, nodeClass);
      this.isRead = true;
      return types;
    } catch (error) {
      log.debug(
        { nodeClaim: claim.metadata.name, error: messageOf(error) },
        'cannot find out whether the type is offered',
      );
      return undefined;
    }
  }

  settle(reason: string | undefined): void {
    if (this.isRead && reason !== 'InstanceTypeNotFound') this.passed.set(this.uid, this.context.now());
  }
}

async function migrated(
  context: OperatorContext,
  claim: NodeClaim,
  pool: NodePool,
  nodeClass: NodeClass,
): Promise<boolean> {
  const written = migratedHashes(claim, { pool, nodeClass });
  if (Object.keys(written).length === 0) return false;
  await updateClaim(context.kube, identityOf(claim), () => ({ metadata: { annotations: written } }));
  return true;
}
