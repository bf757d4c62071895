import { isActive } from '../packing/compile/buffers.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Workloads that buffers refer to change without the buffers (capacity-buffers/reconciled-again). */
const againMs = 30_000;

/** Has `provision` plan for CapacityBuffers as it does for pending pods (capacity-buffers/reconciled-again), when they change and every 30 seconds. */
export function watchCapacityBuffers(context: OperatorContext): () => void {
  const { cache, gates, log, starter } = context;
  if (!gates.CapacityBuffer) return () => undefined;
  const queue = new WorkQueue(
    'signalling provision: capacity buffers',
    async () => {
      if (cache.all('CapacityBuffer').some(isActive)) await starter.podsPending({ again: true });
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
