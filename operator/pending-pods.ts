import type { Pod } from '../api/kubernetes.js';
import { lacksNode } from '../activities/promises.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Pods of one `kubectl apply` come within this; they are told in one signal. */
const collectMs = 100;
/** Pods that still pend are told again this often (section 2.1), at most so many at once. */
const againMs = 10_000;
const uidsInSignal = 5000;

/** Tells `provision` of pods that pend for lack of a node (section 2.1). */
export function watchPendingPods(context: OperatorContext): () => void {
  const fresh = new Set<string>();
  const queue = new WorkQueue('telling provision of pending pods', () => tell(context, fresh), context.log, 1);
  const note = (pod: Pod): void => {
    if (!lacksNode(context, pod)) return;
    fresh.add(pod.metadata.uid ?? '');
    queue.addAfter('pods', collectMs);
  };
  const noteAll = (): void => context.cache.all('Pod').forEach(note);
  const stopWatching = context.cache.on('Pod', ({ type, object, previous }) => {
    if (type !== 'deleted' && (previous === undefined || !lacksNode(context, previous))) note(object);
  });
  // The pods of a node that goes need a place before they are evicted (section 2.1).
  const stopNodes = context.cache.on('Node', ({ type, object, previous }) => {
    if (type === 'deleted' || object.metadata.deletionTimestamp === undefined) return;
    if (previous?.metadata.deletionTimestamp !== undefined) return;
    fresh.add(object.metadata.uid ?? '');
    queue.addAfter('pods', collectMs);
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

async function tell({ starter }: OperatorContext, fresh: Set<string>): Promise<undefined> {
  const uids = [...fresh].slice(0, uidsInSignal);
  if (uids.length === 0) return undefined;
  await starter.podsPending(uids);
  for (const uid of uids) fresh.delete(uid);
  return undefined;
}
