import type { Consolidation, ConsolidationCommand } from '../../disruption/consolidation/types.js';
import { excludedObjectsText } from './excluded-objects.js';
import { onOneLine, counted } from '../../core/text.js';
import { hourly, renderTable } from './table.js';

const shownNames = 3;
const shownReasons = 10;

/** A consolidation as text: the nodes removed and added in each step, the saving, and why other nodes stay. */
export function consolidationText(given: Consolidation, totalMs: number): string {
  const result = onOneLine(given);
  const sections = [
    steps(result.commands),
    kept(result.held),
    excludedObjectsText(result.setAside),
    total(result, totalMs),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function steps(commands: readonly ConsolidationCommand[]): string {
  if (commands.length === 0) return '';
  const rows = commands.map((command, i) => [
    i,
    `${command.method} ${command.decision}`,
    names(command.candidates),
    names(command.replacements.map(({ cheapest }) => `${cheapest.instanceType} (${cheapest.capacityType})`)),
    command.moves.length,
    hourly(command.priceBefore),
    hourly(command.priceAfter),
  ]);
  return renderTable(['STEP', 'WHAT', 'NODES REMOVED', 'NODES ADDED', 'PODS MOVED', 'PER HOUR', 'THEN'], rows);
}

function names(all: readonly string[]): string {
  const more = all.length > shownNames ? ` and ${all.length - shownNames} more` : '';
  return `${all.slice(0, shownNames).join(', ')}${more}`;
}

function kept(held: Consolidation['held']): string {
  if (held.length === 0) return '';
  const lines = held.slice(0, shownReasons).map(({ node, why }) => `  ${node}: ${why}`);
  if (held.length > shownReasons) lines.push(`  ... and ${held.length - shownReasons} more; -o json lists them all`);
  return `${counted(held.length, 'node')} cannot be disrupted\n${lines.join('\n')}`;
}

function total({ commands, nodesBefore, nodesAfter, priceBefore, priceAfter }: Consolidation, totalMs: number): string {
  if (nodesBefore === 0) return 'There is no node among the objects.';
  if (commands.length === 0)
    return `No cheaper fleet was found for ${counted(nodesBefore, 'node')} at ${hourly(priceBefore)} per hour.`;
  const moved = commands.reduce((sum, { moves }) => sum + moves.length, 0);
  const fleet = `${counted(nodesBefore, 'node')} at ${hourly(priceBefore)} per hour become ${nodesAfter} at ${hourly(priceAfter)}`;
  return `${fleet}, in ${counted(commands.length, 'step')} that ${commands.length === 1 ? 'moves' : 'move'} ${counted(moved, 'pod')}; found in ${totalMs.toFixed(1)} ms.`;
}
