import type { ActivityDeps } from './deps.js';

/** Section 1.7: an event on each node of a disruption. */
export async function publishDisruption(
  { events }: ActivityDeps,
  { nodes, reason, message }: { readonly nodes: readonly string[]; readonly reason: string; readonly message: string },
): Promise<void> {
  const type = reason === 'DisruptionBlocked' || reason === 'ConsolidationRejected' ? 'Warning' : 'Normal';
  for (const name of nodes) {
    events.publish({ regarding: { apiVersion: 'v1', kind: 'Node', name }, type, reason, message });
  }
  return Promise.resolve();
}
