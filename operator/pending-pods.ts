import type { Condition, KubernetesObject, Pod } from '../api/kubernetes.js';
import { lacksNode } from '../cluster/awaited-nodes.js';
import { backOffMs } from '../core/back-off.js';
import { refusalsOn } from '../core/refusals.js';
import { isTrue, conditionOf, withCondition } from '../core/conditions.js';
import { isDrainable, isPending } from '../core/pods.js';
import type { Kind } from '../kube/port.js';
import { inSpan } from './in-span.js';
import type { OperatorContext } from './context.js';
import { WorkQueue, type Requeue } from './work-queue.js';
import { fullName, isDeleting } from '../core/names.js';
import type { CapacityBuffer } from '../api/autoscaling/capacity-buffer.js';
import { gateIsOff } from '../core/feature-gates.js';
import { isActive } from '../packing/compile/buffers.js';

/** Interval of checks for pending pods, without calls to Temporal. */
const lookMs = 10_000;
/**
 * Back-off of repeated signals while the same pods are pending and nothing changes that decides whether they fit
 * (provisioning/signalled-again).
 */
const again = { firstMs: lookMs, longestMs: 900_000 };

const newPods = 'new';
const stillPending = 'still';
const pods = 'pods';

/**
 * Signals `provision` about pods that are pending for lack of a node (provisioning/pending-pods): once for each batch
 * window (provisioning/batch-window).
 */
export function watchPendingPods(context: OperatorContext): () => void {
  const { now, starter, window } = context;
  /** While the batch window is open: when its first and its last pod came, by a monotonic clock. */
  let open: { readonly first: number; readonly last: number } | undefined;
  const noteNew = (): void => {
    const last = performance.now();
    open = { first: open?.first ?? last, last };
    queue.addAfter(newPods, window.idleMs);
  };
  // Which pods they are is read when they are planned for.
  const signal = async (key: string): Promise<Requeue | undefined> => {
    const at = performance.now();
    const { first, last } = open ?? { first: at, last: -Infinity };
    const restMs = Math.min(last + window.idleMs, first + window.maxMs) - at;
    if (key === newPods && restMs > 0) return { afterMs: restMs };
    open = undefined;
    const what = key === newPods ? 'pods pend' : 'pods still pend';
    await inSpan(what, now() - (at - first), () => starter.podsPending());
    return undefined;
  };
  const queue = new WorkQueue('signalling provision: pending pods', signal, context.log, 1);
  // A pod that waits for its node may lack it later, without a change of the pod.
  let repeated = { of: '', times: 0, at: 0 };
  const signalAgain = (pending: readonly Pod[]): void => {
    if (open !== undefined || !pending.some((pod) => lacksNode(context, pod))) return;
    const of = whatDecides(context, pending);
    const age = now() - repeated.at;
    // If the clock was set back, the age is unknown.
    if (of === repeated.of && age >= 0 && age < backOffMs(repeated.times, again)) return;
    const times = of === repeated.of ? repeated.times + 1 : 1;
    repeated = { of, times, at: now() };
    queue.add(stillPending);
  };
  const looks = new WorkQueue(
    'looking for pending pods',
    () => {
      const pending = context.cache.all('Pod').filter(isPending);
      signalAgain(pending);
      return Promise.resolve(pending.length === 0 ? undefined : { afterMs: lookMs });
    },
    context.log,
  );
  const stopWatching = context.cache.on('Pod', ({ type, object, previous }) => {
    if (type === 'deleted') return;
    if (takesRoom(context, object, previous)) looks.addAfter(pods, window.idleMs);
    if (!isPending(object)) return;
    looks.addAfter(pods, lookMs);
    if (!lacksNode(context, object)) return;
    if (previous === undefined || !lacksNode(context, previous)) noteNew();
  });
  // The pods of a deleting node need a place before they are evicted (provisioning/pods-of-deleting-nodes).
  const stopNodes = context.cache.on('Node', ({ type, object, previous }) => {
    if (type === 'deleted' || !isDeleting(object)) return;
    if (previous?.metadata.deletionTimestamp !== undefined) return;
    const running = context.cache.podsOnNode(object.metadata.name ?? '');
    if (running.some((pod) => isDrainable(pod, context.now()))) noteNew();
  });
  looks.add(pods);
  return () => {
    stopWatching();
    stopNodes();
    for (const each of [looks, queue]) each.stop();
  };
}

/**
 * Whether a pod was just bound for which no node was launched: pods that await its node may lack one now. Where pods for
 * which nodes were launched change places, nothing is lacking.
 */
function takesRoom({ cache }: OperatorContext, pod: Pod, previous: Pod | undefined): boolean {
  if ((pod.spec.nodeName ?? '') === '' || previous === undefined || (previous.spec.nodeName ?? '') !== '') return false;
  return cache.nodeClaimsPlannedFor(fullName(pod)).length === 0;
}

/** Kinds whose set of objects and specs decide where pods fit. */
const deciding: readonly Kind[] = ['NodeOverlay', 'DaemonSet', 'StorageClass', 'PersistentVolumeClaim'];

/**
 * A key of everything that decides whether the pending pods fit on a new node: the pods, NodePools with used limits and
 * back-offs, node classes, overlays, volumes, and nodes in flight. Placement on existing nodes is up to kube-scheduler.
 */
function whatDecides(context: OperatorContext, pending: readonly Pod[]): string {
  const { cache, cloud, now } = context;
  const kinds = [...deciding, cloud.nodeClassKind.kind as Kind].filter((kind) => cache.kinds.includes(kind));
  return JSON.stringify([
    pending.map((pod) => [pod.metadata.uid, pod.metadata.labels, lacksNode(context, pod)]),
    cache
      .all('NodePool')
      .map((pool) => [
        ...[pool.metadata.uid, pool.metadata.generation, pool.metadata.labels],
        ...[isTrue(pool.status?.conditions, 'Ready'), pool.status?.resources],
        refusalsOn(pool, now()).flatMap(({ by, shape, until }) => (until > now() ? [[by, shape]] : [])),
      ]),
    cache.all('NodeClaim').map(({ metadata, status }) => [metadata.uid, isTrue(status?.conditions, 'Initialized')]),
    kinds.map((kind) =>
      (cache.all(kind) as readonly Deciding[]).map(({ metadata, status }) => [
        ...[metadata.uid, metadata.generation, status?.phase, isTrue(status?.conditions, 'Ready')],
      ]),
    ),
  ]);
}

interface Deciding extends KubernetesObject {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

/** Workloads that buffers refer to may change without an event on the buffer (capacity-buffers/reconciled-again). */
const againMs = 30_000;

/**
 * Makes `provision` plan for CapacityBuffers like for pending pods (capacity-buffers/reconciled-again), when they
 * change and every 30 seconds.
 */
export function watchCapacityBuffers(context: OperatorContext): () => void {
  const { cache, gates, log, starter } = context;
  if (!gates.CapacityBuffer) return reportGateIsOff(context);
  const queue = new WorkQueue(
    'signalling provision: capacity buffers',
    async () => {
      if (cache.all('CapacityBuffer').some(isActive)) await starter.podsPending();
      return { afterMs: againMs };
    },
    log,
    1,
  );
  const stop = cache.on('CapacityBuffer', ({ object, previous }) => {
    if (object.metadata.generation !== previous?.metadata.generation) queue.add('buffers');
  });
  queue.add('buffers');
  return () => {
    stop();
    queue.stop();
  };
}

/** Sets a condition on each buffer that no capacity is kept for it (settings/feature-gates). */
function reportGateIsOff({ cache, kube, log, now }: OperatorContext): () => void {
  const change = { type: 'ReadyForProvisioning', ...gateIsOff('CapacityBuffer', 'no capacity is kept free') };
  const report = async (key: string): Promise<undefined> => {
    const [namespace = '', name = ''] = key.split('/');
    const buffer = cache.get('CapacityBuffer', { namespace, name });
    if (buffer === undefined || !isActive(buffer)) return;
    const { status, metadata } = buffer;
    if (conditionOf(status?.conditions, change.type)?.message === change.message) return;
    const conditions = withCondition(status?.conditions, change, { now: now(), generation: metadata.generation });
    await kube.patch('CapacityBuffer', { namespace, name }, { status: { conditions } }, { subresource: 'status' });
  };
  const queue = new WorkQueue('reporting on CapacityBuffers that their gate is off', report, log);
  const look = ({ metadata }: CapacityBuffer): void => queue.add(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  const stop = cache.on('CapacityBuffer', ({ object, previous }) => {
    if (object.metadata.generation !== previous?.metadata.generation) look(object);
  });
  cache.all('CapacityBuffer').forEach(look);
  return () => {
    stop();
    queue.stop();
  };
}
