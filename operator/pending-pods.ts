import type { Condition, KubernetesObject, ObjectMeta, Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { lacksNode } from '../cluster/awaited-nodes.js';
import { refusalsInForce } from '../cluster/refused-pods.js';
import { backOffMs } from '../core/back-off.js';
import { claimRefusalOf } from '../core/claim-refusals.js';
import { isTrue } from '../core/conditions.js';
import { isPending } from '../core/pods.js';
import type { Kind } from '../kube/port.js';
import { inSpan } from './in-span.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Pods of one `kubectl apply` come within this; one signal is for all. While more and more come, signals are this far apart. */
const collectMs = { first: 100, others: 500 };
/** How often pods that pend are looked at. That takes nothing of Temporal. */
const lookMs = 10_000;
/** That pods still pend is signalled again after this, later each time while nothing changes that decides whether they fit (provisioning/signalled-again). */
const again = { firstMs: lookMs, longestMs: 900_000 };

const newPods = 'new';
const stillPending = 'still';
const pods = 'pods';

/** Tells `provision` of pods that pend for lack of a node (provisioning/pending-pods). */
export function watchPendingPods(context: OperatorContext): () => void {
  const { now } = context;
  /** When what `newPods` stands for was first seen. */
  let firstSeen: number | undefined;
  const noteNew = (): void => {
    firstSeen ??= now();
    queue.addAfter(newPods, now() - signalledAt < collectMs.others ? collectMs.others : collectMs.first);
  };
  let signalledAt = 0;
  const takeSeen = (key: string): number => {
    if (key !== newPods) return now();
    const seen = firstSeen ?? now();
    firstSeen = undefined;
    signalledAt = now();
    return seen;
  };
  const queue = new WorkQueue(
    'signalling provision: pending pods',
    (key) => signalPending(context, key, takeSeen(key)),
    context.log,
    1,
  );
  // One that waits for its node may lack it later, without any change of its own.
  let repeated = { of: '', times: 0, againAt: 0 };
  const signalAgain = (pending: readonly Pod[]): void => {
    if (!pending.some((pod) => lacksNode(context, pod))) return;
    const of = whatDecides(context, pending);
    if (of === repeated.of && now() < repeated.againAt) return;
    const times = of === repeated.of ? repeated.times + 1 : 1;
    repeated = { of, times, againAt: now() + backOffMs(times, again) };
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
    if (type === 'deleted' || !isPending(object)) return;
    looks.addAfter(pods, lookMs);
    if (!lacksNode(context, object)) return;
    if (previous === undefined || !lacksNode(context, previous)) noteNew();
  });
  // The pods of a node that goes need a place before they are evicted (provisioning/pods-of-deleting-nodes).
  const stopNodes = context.cache.on('Node', ({ type, object, previous }) => {
    if (type === 'deleted' || object.metadata.deletionTimestamp === undefined) return;
    if (previous?.metadata.deletionTimestamp !== undefined) return;
    noteNew();
  });
  looks.add(pods);
  return () => {
    stopWatching();
    stopNodes();
    for (const each of [looks, queue]) each.stop();
  };
}

/** Which pods they are is read when they are planned for. */
async function signalPending({ starter }: OperatorContext, key: string, sinceMs: number): Promise<undefined> {
  const again = key === stillPending;
  await inSpan(again ? 'pods still pend' : 'pods pend', sinceMs, () => starter.podsPending({ again }));
  return undefined;
}

/** Kinds of which objects, and what they specify, decide where pods fit. */
const deciding: readonly Kind[] = ['NodeOverlay', 'DaemonSet', 'StorageClass', 'PersistentVolumeClaim'];

/**
 * What decides whether the pending pods find a place on a node that is launched, as a text: which they are, NodePools with their limits in use and
 * back-offs, node classes, overlays, volumes, and the nodes that are on their way. What kube-scheduler places on nodes that are there is its own.
 */
function whatDecides(context: OperatorContext, pending: readonly Pod[]): string {
  const { cache, cloud, now } = context;
  const refusalOf = refusalsInForce(context);
  const kinds = [...deciding, cloud.nodeClassKind.kind as Kind].filter((kind) => cache.kinds.includes(kind));
  return JSON.stringify([
    pending.map((pod) => [pod.metadata.uid, pod.metadata.labels, lacksNode(context, pod), refusalOf(pod)?.until]),
    cache
      .all('NodePool')
      .map(({ metadata, status }) => [
        ...[metadata.uid, metadata.generation, metadata.labels, isTrue(status?.conditions, 'Ready'), status?.resources],
        isBackedOff(metadata, now()),
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

function isBackedOff({ annotations: noted, generation }: ObjectMeta, now: number): boolean {
  const refusal = claimRefusalOf(noted?.[annotations.claimsRefused], generation, now);
  return refusal !== undefined && refusal.until > now;
}
