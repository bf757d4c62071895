import type { Life, OpenWorkflow } from './life.js';
import { age } from '../output/status-table.js';
import { renderTable } from '../output/table.js';
import { onOneLine } from '../../core/text.js';
import { timeText } from '../../core/time.js';

/** A node's life as text: one line per step, with the time since the previous one. */
export function lifeText(life: Life): string {
  const { nodeClaim, nodePool, node, instance, lines, open, notes } = onOneLine(life);
  const named = [
    `NodeClaim ${nodeClaim}`,
    ...(nodePool === '' ? [] : [`NodePool ${nodePool}`]),
    ...(node === '' ? [] : [`Node ${node}`]),
    ...(instance === '' ? [] : [`instance ${instance}`]),
  ];
  const rows = lines.map(({ at, afterMs, workflowId = '', what }) => [
    timeText(at),
    afterMs === undefined ? '' : `+${age(afterMs)}`,
    workflowId,
    what,
  ]);
  const sections = [
    named.join(', '),
    rows.length === 0
      ? 'Temporal has kept nothing about it.'
      : renderTable(['TIME', 'AFTER', 'WORKFLOW', 'WHAT'], rows),
    open.length === 0 ? '' : `Under way\n${open.map(openLine).join('\n')}`,
    notes.join('\n'),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function openLine({ workflowId, phase, since, blockedBy }: OpenWorkflow): string {
  const blocked = blockedBy === '' ? '' : `, blocked by ${blockedBy}`;
  return `  ${workflowId}: ${phase} since ${timeText(since)}${blocked}`;
}
