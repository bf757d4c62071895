import { nodeNameOf } from '../../cluster/cluster.js';
import type { ConsolidationCommand, ConsolidationInput } from '../../disruption/consolidation/types.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { poolNameOf } from '../disruption-context/disruption-context.js';

const noNodes: ReadonlySet<string> = new Set();

/** Commands of one search, and why the others wait. */
export interface ConcurrentCommands {
  /** Those that can start together. */
  readonly commands: readonly ConsolidationCommand[];
  /** Those that wait until others, which save more, have been carried out. */
  readonly dependent: readonly ConsolidationCommand[];
  /** Those that wait for consolidateAfter: of their candidates, or of nodes that their pods would move to. */
  readonly notYetConsolidatable: readonly ConsolidationCommand[];
}

/**
 * Selects the commands that can start together. Each command is based on the result of those before it. Commands that
 * depend on another one, and those that budgets do not allow at the same time, wait for the next search; highest saving
 * per node first. A command whose nodes are not all consolidatable yet also waits, but counts for the commands after
 * it.
 */
export function concurrentCommands(
  commands: readonly ConsolidationCommand[],
  { limits }: Pick<ConsolidationInput, 'limits'>,
  { views, notYet = noNodes }: Pick<DisruptionContext, 'views'> & { readonly notYet?: ReadonlySet<string> },
): ConcurrentCommands {
  const poolOf = new Map(views.map((view) => [nodeNameOf(view), poolNameOf(view)]));
  const touched = new Set<string>();
  const going = new Set<string>();
  const left = new Map([...(limits ?? [])].map(([pool, { Underutilized = 0 }]) => [pool, Underutilized]));
  const chosen = [...commands].sort(bySaving).filter(({ method, candidates, moves }) => {
    if (method === 'empty') return false;
    const rests =
      candidates.some((node) => touched.has(node) || !poolOf.has(node)) ||
      moves.some(({ to }) => going.has(to)) ||
      moves.some(({ to }) => to.startsWith('replacement-') && goesToOtherReplacement(to, commands, candidates));
    if (rests) return false;
    const needed = new Map<string, number>();
    for (const node of candidates) needed.set(poolOf.get(node)!, (needed.get(poolOf.get(node)!) ?? 0) + 1);
    if ([...needed].some(([pool, count]) => count > (left.get(pool) ?? Number.POSITIVE_INFINITY))) return false;
    for (const [pool, count] of needed) left.set(pool, (left.get(pool) ?? Number.POSITIVE_INFINITY) - count);
    for (const node of candidates) going.add(node);
    for (const { to } of moves) touched.add(to);
    return true;
  });
  const isEarly = ({ candidates }: ConsolidationCommand): boolean => candidates.some((name) => notYet.has(name));
  const notYetConsolidatable = chosen.filter(isEarly);
  const dependent = commands.filter((command) => command.method !== 'empty' && !chosen.includes(command));
  const due = chosen.filter((command) => !isEarly(command));
  return { commands: due, dependent, notYetConsolidatable };
}

/** Highest saving per removed node first; then the order in which they were found. */
function bySaving(a: ConsolidationCommand, b: ConsolidationCommand): number {
  return savingPerNode(b) - savingPerNode(a);
}

function savingPerNode({ priceBefore, priceAfter, candidates }: ConsolidationCommand): number {
  return (priceBefore - priceAfter) / candidates.length;
}

/** Whether a move goes to a replacement of another command. */
function goesToOtherReplacement(
  to: string,
  commands: readonly ConsolidationCommand[],
  candidates: readonly string[],
): boolean {
  const [, number] = to.split('-');
  return commands[Number(number)]?.candidates !== candidates;
}
