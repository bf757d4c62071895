import { isActive } from '../packing/compile/buffers.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Workloads that buffers refer to change without the buffers (section 1.5). */
const againMs = 30_000;

/** Has `provision` plan for CapacityBuffers as it does for pending pods (section 1.5), when they change and every 30 seconds. */
export function watchCapacityBuffers(context: OperatorContext): () => void {
  const { cache, gates, log, starter } = context;
  if (!gates.CapacityBuffer) return () => undefined;
  const queue = new WorkQueue(
    'telling provision of capacity buffers',
    async () => {
      const uids = cache
        .all('CapacityBuffer')
        .filter(isActive)
        .map(({ metadata }) => metadata.uid ?? '');
      if (uids.length > 0) await starter.podsPending(uids);
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
