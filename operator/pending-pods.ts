import { lacksNode } from '../cluster/awaited-nodes.js';
import { isPending } from '../core/pods.js';
import { inSpan } from './in-span.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Pods of one `kubectl apply` come within this; they are told in one signal. While more and more come, signals are this far apart. */
const collectMs = { first: 100, others: 500 };
/** That pods still pend is told again this often, for as long as any do (provisioning/signalled-again). */
const againMs = 10_000;

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
    queue.addAfter(newPods, now() - toldAt < collectMs.others ? collectMs.others : collectMs.first);
  };
  let toldAt = 0;
  const takeSeen = (key: string): number => {
    if (key !== newPods) return now();
    const seen = firstSeen ?? now();
    firstSeen = undefined;
    toldAt = now();
    return seen;
  };
  const queue = new WorkQueue(
    'signalling provision: pending pods',
    (key) => signalPending(context, key, takeSeen(key)),
    context.log,
    1,
  );
  // One that waits for its node may lack it later, without any change of its own.
  const looks = new WorkQueue(
    'looking for pending pods',
    () => {
      const pending = context.cache.all('Pod').filter(isPending);
      if (pending.some((pod) => lacksNode(context, pod))) queue.add(stillPending);
      return Promise.resolve(pending.length === 0 ? undefined : { afterMs: againMs });
    },
    context.log,
  );
  const stopWatching = context.cache.on('Pod', ({ type, object, previous }) => {
    if (type === 'deleted' || !isPending(object)) return;
    looks.addAfter(pods, againMs);
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
