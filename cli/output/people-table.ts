import { onOneLine } from '../../core/text.js';
import { pauseScopeText } from '../../core/pause-scope.js';
import type { Pause, Refused } from '../../workflows/messages.js';
import { renderTable } from './table.js';
import { timeText } from '../../core/time.js';

export function pauseLine(pause: Pause): string {
  const { scope, until, actor, reason } = onOneLine(pause);
  const end = until === undefined ? 'until it is resumed' : `until ${timeText(until)}`;
  return `${pauseScopeText(scope)} ${end}, by ${actor}: ${reason}`;
}

export function pauseTable(pauses: readonly Pause[]): string {
  return renderTable(
    ['PAUSED', 'UNTIL', 'BY', 'BECAUSE'],
    pauses.map(({ scope, until, actor, reason }) => [
      pauseScopeText(scope),
      until === undefined ? 'resumed' : timeText(until),
      actor,
      reason,
    ]),
  );
}

/** Disruptions that users rejected: not proposed again for that reason until then. */
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
