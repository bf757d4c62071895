import type { NodePool } from '../api/karpenter/node-pool.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Condition } from '../api/kubernetes.js';
import { annotations, finalizers } from '../api/labels.js';
import type { NodeClass, NodeClassResolution } from '../cloud/port.js';
import { isManaged, managedClaims, managedPools } from '../cluster/cluster.js';
import { updateObject } from '../cluster/writes.js';
import { conditionOf, nodesUpToDate, withCondition, withoutCondition } from '../core/conditions.js';
import { hashDrifted, type HashStamp } from '../core/drift-hash.js';
import { canonicalJson } from '../core/hash.js';
import type { OperatorContext } from './context.js';
import { settleInTurn } from '../core/at-once.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';
import { hasOwn, lookUp } from '../core/own.js';
import { countedAfterMs, updatesOf } from './up-to-date.js';
import { nameOf, isDeleting } from '../core/names.js';

type NodeClassKind = 'EC2NodeClass' | 'KWOKNodeClass';

const waitsForClaimsMs = 600_000;

/** Dependencies for resolving a node class. */
type Resolving = Pick<OperatorContext, 'kube' | 'cache' | 'cloud' | 'events'>;

/** Interval of counts for changes without an event: budgets, pauses. Milliseconds. */
const everyMs = 60_000;

/** Resolves node classes against the cloud and writes their status, hashes and finalizer (node-classes/ready). */
export function watchNodeClasses(context: OperatorContext): () => void {
  const { cache, log } = context;
  const kind = context.cloud.nodeClassKind.kind as NodeClassKind;
  const reconciling = reportingRefusals(context, kind, (name) => resolveNodeClass(context, kind, name));
  const queue = new WorkQueue('resolving a node class', reconciling, log, 4);
  const counting = reportingRefusals(context, kind, (name) => countNodes(context, kind, name));
  const counts = new WorkQueue('counting the nodes of node classes', counting, log);
  const count = (name: string): void => counts.addAfter(name, countedAfterMs);
  const countAll = (): void => cache.all(kind).forEach(({ metadata }) => count(metadata.name ?? ''));
  const stops = [
    cache.onEach(kind, ({ type, object, previous }) => {
      // Status writes of this controller do not trigger it.
      const same =
        previous !== undefined &&
        previous.metadata.generation === object.metadata.generation &&
        previous.metadata.deletionTimestamp === object.metadata.deletionTimestamp;
      if (type !== 'deleted' && !same) queue.add(nameOf(object));
      if (type !== 'deleted') count(nameOf(object));
    }),
    cache.on('Node', countAll),
    cache.on('NodeClaim', ({ type, object }) => {
      if (!isManaged(context, object.spec.nodeClassRef)) return;
      const { name } = object.spec.nodeClassRef;
      count(name);
      if (type !== 'deleted') return;
      const nodeClass = cache.get(kind, { name });
      if (nodeClass !== undefined && isDeleting(nodeClass)) queue.add(name);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    for (const each of [queue, counts]) each.stop();
  };
}

/** Writes how many nodes are as a resolved node class says (node-pools/up-to-date). */
async function countNodes(context: OperatorContext, kind: NodeClassKind, name: string): Promise<Requeue | undefined> {
  const nodeClass: NodeClass | undefined = context.cache.get(kind, { name });
  if (nodeClass === undefined || isDeleting(nodeClass)) return undefined;
  const { generation, annotations: own } = nodeClass.metadata;
  const { conditions } = (nodeClass.status ?? {}) as NodeClassStatus;
  // Until it is resolved, its hash is that of an older spec.
  if ((conditionOf(conditions, 'Ready')?.observedGeneration ?? generation) !== generation) return undefined;
  const claims = managedClaims(context).filter(({ spec }) => spec.nodeClassRef.name === name);
  const isOlder = ({ metadata }: NodeClaim): boolean => hashDrifted(classStamp(metadata.annotations), classStamp(own));
  const { updates, condition } = updatesOf(context, claims, isOlder);
  const at = { now: context.now(), generation };
  const wanted = withCondition(conditions, condition, at);
  if (canonicalJson(wanted) !== canonicalJson(conditions ?? []))
    await updateObject(
      context.kube,
      kind,
      name,
      (live) =>
        live.metadata.generation === generation
          ? { status: { updates, conditions: withCondition(live.status?.conditions, condition, at) } }
          : undefined,
      { subresource: 'status' },
    );
  return { afterMs: everyMs };
}

interface NodeClassStatus {
  readonly conditions?: readonly Condition[];
}

const classStamp = (own: Readonly<Record<string, string>> | undefined): HashStamp => ({
  hash: own?.[annotations.ec2NodeClassHash],
  version: own?.[annotations.ec2NodeClassHashVersion],
});

/** Reconciles one node class. Rejects if the cloud or the API server is unavailable. */
export async function resolveNodeClass(
  context: Resolving,
  kind: NodeClassKind,
  name: string,
): Promise<Requeue | undefined> {
  const nodeClass: NodeClass | undefined = await context.kube.get(kind, { name });
  if (nodeClass === undefined) return undefined;
  if (isDeleting(nodeClass)) return remove(context, kind, nodeClass);
  const owned = await updateObject(context.kube, kind, name, ({ metadata }) =>
    metadata.finalizers?.includes(finalizers.ec2NodeClass) === true
      ? undefined
      : { metadata: { finalizers: [...(metadata.finalizers ?? []), finalizers.ec2NodeClass] } },
  );
  if (owned === undefined) return undefined;
  const resolution = await context.cloud.resolveNodeClass(owned, poolsOf(context, name));
  for (const event of resolution.events) context.events.publish({ ...event, regarding: regarding(kind, nodeClass) });
  // One write may be refused: without its status the node class would never be Ready.
  await settleInTurn([writeAnnotations, writeStatus], (write) =>
    write(context, kind, { nodeClass: owned, resolution }),
  );
  return { afterMs: resolution.requeueAfterMs };
}

interface Resolved {
  readonly nodeClass: NodeClass;
  readonly resolution: NodeClassResolution;
}

async function writeAnnotations(
  { kube }: Resolving,
  kind: NodeClassKind,
  { nodeClass: { metadata }, resolution: { annotations: wanted } }: Resolved,
): Promise<void> {
  if (Object.entries(wanted).every(([key, value]) => lookUp(metadata.annotations, key) === value)) return;
  await updateObject(kube, kind, metadata.name ?? '', () => ({ metadata: { annotations: wanted } }));
}

async function writeStatus(
  { kube }: Resolving,
  kind: NodeClassKind,
  { nodeClass, resolution: { status } }: Resolved,
): Promise<void> {
  if (canonicalJson(nodeClass.status ?? {}) === canonicalJson(counted(nodeClass, status))) return;
  const change = (live: NodeClass): object => ({ status: replacing(live.status, counted(live, status)) });
  await updateObject(kube, kind, nameOf(nodeClass), change, { subresource: 'status' });
}

/** The resolved status with what `countNodes` has written. */
function counted({ status }: NodeClass, resolved: NodeClassStatus): object {
  const { updates, conditions } = (status ?? {}) as NodeClassStatus & { readonly updates?: object };
  const kept = conditionOf(conditions, nodesUpToDate);
  const others = withoutCondition(resolved.conditions, nodesUpToDate);
  return {
    ...resolved,
    ...(updates === undefined ? {} : { updates }),
    conditions: kept === undefined ? others : [...others, kept],
  };
}

/** The NodePools that launch from a node class. */
function poolsOf(context: Resolving, name: string): readonly NodePool[] {
  return managedPools(context).filter(
    ({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.template.spec.nodeClassRef.name === name,
  );
}

/** A merge patch that removes fields of the old status that the new one lacks. */
function replacing(before: object | undefined, after: object): object {
  const gone = Object.keys(before ?? {}).filter((key) => !hasOwn(after, key));
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...after };
}

/** Rule `node-classes/deletion`: deleted once no NodeClaim refers to it, together with its cloud resources. */
async function remove(context: Resolving, kind: NodeClassKind, nodeClass: NodeClass): Promise<Requeue | undefined> {
  const name = nameOf(nodeClass);
  const claims = managedClaims(context).filter(({ spec }) => spec.nodeClassRef.name === name);
  if (claims.length > 0) {
    const names = claims.slice(0, 5).map(nameOf);
    context.events.publish({
      regarding: regarding(kind, nodeClass),
      type: 'Normal',
      reason: 'WaitingOnNodeClaimTermination',
      message: `Waiting on NodeClaim termination for ${names.join(', ')}`,
    });
    return { afterMs: waitsForClaimsMs };
  }
  await context.cloud.cleanUpNodeClass(nodeClass);
  await updateObject(context.kube, kind, name, ({ metadata }) => ({
    metadata: { finalizers: (metadata.finalizers ?? []).filter((own) => own !== finalizers.ec2NodeClass) },
  }));
  return undefined;
}

function regarding(
  kind: string,
  { apiVersion, metadata }: NodeClass,
): { apiVersion: string; kind: string; name: string; uid: string } {
  return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '' };
}
