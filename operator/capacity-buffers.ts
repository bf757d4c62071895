import type { CapacityBuffer } from '../api/autoscaling/capacity-buffer.js';
import { conditionOf, withCondition } from '../core/conditions.js';
import { gateIsOff } from '../core/feature-gates.js';
import { isActive } from '../packing/compile/buffers.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

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
