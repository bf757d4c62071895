import type { Pause, PauseScope, Refused } from '../../workflows/messages.js';
import { renderTable } from './table.js';

/** What a pause holds up: `the cluster`, `NodePool gpu`, `node ip-10-0-0-1 for Drifted`. */
export function scopeText({ kind, name = '', reason }: PauseScope): string {
  const what = { cluster: 'the cluster', nodePool: `NodePool ${name}`, reason: `reason ${name}`, node: `node ${name}` };
  return `${what[kind]}${reason === undefined ? '' : ` for ${reason}`}`;
}

export function pauseLine({ scope, until, actor, reason }: Pause): string {
  const end = until === undefined ? 'until it is resumed' : `until ${timeText(until)}`;
  return `${scopeText(scope)} ${end}, by ${actor}: ${reason}`;
}

export function pauseTable(pauses: readonly Pause[]): string {
  return renderTable(
    ['PAUSED', 'UNTIL', 'BY', 'BECAUSE'],
    pauses.map(({ scope, until, actor, reason }) => [
      scopeText(scope),
      until === undefined ? 'resumed' : timeText(until),
      actor,
      reason,
    ]),
  );
}

/** What people turned down: not proposed again for that reason until then. */
export function refusedTable(refused: readonly Refused[]): string {
  return renderTable(
    ['NODES', 'REASON', 'UNTIL', 'BECAUSE'],
    refused.map(({ nodes, reason, until, why }) => [
      nodes.map(({ node }) => node).join(', '),
      reason,
      timeText(until),
      why,
    ]),
  );
}

/** To the second, in UTC as everything that Kubernetes and Temporal print. */
export function timeText(at: number | string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
