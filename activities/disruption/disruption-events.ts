import type { ActivityDeps } from '../deps.js';
import { regarding } from '../../core/events.js';

const warnings: ReadonlySet<string> = new Set(['DisruptionBlocked', 'ConsolidationRejected', 'DrainForced']);

/** Rule `events/of-a-disruption`: an event on each node of a disruption. */
export async function publishDisruption(
  { events }: ActivityDeps,
  { nodes, reason, message }: { readonly nodes: readonly string[]; readonly reason: string; readonly message: string },
): Promise<void> {
  const type = warnings.has(reason) ? 'Warning' : 'Normal';
  for (const name of nodes) {
    events.publish({ regarding: regarding('Node', { name }), type, reason, message });
  }
  return Promise.resolve();
}
