import { lacksNode } from '../cluster/awaited-nodes.js';
import { inSpan } from './in-span.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Pods of one `kubectl apply` come within this; they are told in one signal. */
const collectMs = 100;
/** That pods still pend is told again this often (provisioning/signalled-again). */
const againMs = 10_000;

const newPods = 'new';
const stillPending = 'still';

/** Tells `provision` of pods that pend for lack of a node (provisioning/pending-pods). */
export function watchPendingPods(context: OperatorContext): () => void {
  const { now } = context;
  /** When what `newPods` stands for was first seen. */
  let firstSeen: number | undefined;
  const noteNew = (): void => {
    firstSeen ??= now();
    queue.addAfter(newPods, collectMs);
  };
  const takeSeen = (key: string): number => {
    const seen = key === newPods ? firstSeen : undefined;
    if (key === newPods) firstSeen = undefined;
    return seen ?? now();
  };
  const queue = new WorkQueue(
    'signalling provision: pending pods',
    (key) => signalPending(context, key, takeSeen(key)),
    context.log,
    1,
  );
  const noteAll = (): void => {
    if (context.cache.all('Pod').some((pod) => lacksNode(context, pod))) queue.add(stillPending);
  };
  const stopWatching = context.cache.on('Pod', ({ type, object, previous }) => {
    if (type === 'deleted' || !lacksNode(context, object)) return;
    if (previous === undefined || !lacksNode(context, previous)) noteNew();
  });
  // The pods of a node that goes need a place before they are evicted (provisioning/pods-of-deleting-nodes).
  const stopNodes = context.cache.on('Node', ({ type, object, previous }) => {
    if (type === 'deleted' || object.metadata.deletionTimestamp === undefined) return;
    if (previous?.metadata.deletionTimestamp !== undefined) return;
    noteNew();
  });
  const timer = setInterval(noteAll, againMs);
  noteAll();
  return () => {
    clearInterval(timer);
    stopWatching();
    stopNodes();
    queue.stop();
  };
}

/** Which pods they are is read when they are planned for. */
async function signalPending({ starter }: OperatorContext, key: string, sinceMs: number): Promise<undefined> {
  const again = key === stillPending;
  await inSpan(again ? 'pods still pend' : 'pods pend', sinceMs, () => starter.podsPending({ again }));
  return undefined;
}
