import { managedPools, nodeClassOf } from '../cluster/cluster.js';
import { regarding } from '../core/events.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

const everyMs = 30_000;
const all = 'all';

/**
 * Publishes events for NodePools from the cloud, such as zonal shifts, every 30 seconds (zonal-shift/events). Does
 * nothing if the provider has none.
 */
export function publishPoolEvents(context: OperatorContext): () => void {
  if (context.cloud.poolEvents === undefined) return () => undefined;
  const queue = new WorkQueue('publishing events of NodePools', () => publishNewEvents(context), context.log);
  queue.add(all);
  return () => queue.stop();
}

/** Publishes new events for all NodePools whose node class exists. */
export async function publishNewEvents(
  context: Pick<OperatorContext, 'cache' | 'cloud' | 'events'>,
): Promise<{ readonly afterMs: number }> {
  const pools = managedPools(context).flatMap((pool) => {
    const nodeClass = nodeClassOf(context, pool.spec.template.spec.nodeClassRef);
    return nodeClass === undefined ? [] : [{ pool, nodeClass }];
  });
  for (const { pool, ...event } of (await context.cloud.poolEvents?.(pools)) ?? []) {
    context.events.publish({ ...event, regarding: regarding('NodePool', pool.metadata) });
  }
  return { afterMs: everyMs };
}
