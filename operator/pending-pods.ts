import { lacksNode } from '../cluster/awaited-nodes.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Pods of one `kubectl apply` come within this; they are told in one signal. */
const collectMs = 100;
/** That pods still pend is told again this often (provisioning/told-again). */
const againMs = 10_000;

const newPods = 'new';
const stillPending = 'still';

/** Tells `provision` of pods that pend for lack of a node (provisioning/pending-pods). */
export function watchPendingPods(context: OperatorContext): () => void {
  const queue = new WorkQueue('telling provision of pending pods', (key) => tell(context, key), context.log, 1);
  const noteAll = (): void => {
    if (context.cache.all('Pod').some((pod) => lacksNode(context, pod))) queue.add(stillPending);
  };
  const stopWatching = context.cache.on('Pod', ({ type, object, previous }) => {
    if (type === 'deleted' || !lacksNode(context, object)) return;
    if (previous === undefined || !lacksNode(context, previous)) queue.addAfter(newPods, collectMs);
  });
  // The pods of a node that goes need a place before they are evicted (provisioning/pods-of-deleting-nodes).
  const stopNodes = context.cache.on('Node', ({ type, object, previous }) => {
    if (type === 'deleted' || object.metadata.deletionTimestamp === undefined) return;
    if (previous?.metadata.deletionTimestamp !== undefined) return;
    queue.addAfter(newPods, collectMs);
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
async function tell({ starter }: OperatorContext, key: string): Promise<undefined> {
  await starter.podsPending({ again: key === stillPending });
  return undefined;
}
