import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { allowedFor, poolNameOf } from '../disruption-context/disruption-context.js';

/** Tolerance for rounding in sums of prices, dollars per hour. */
const rounding = 1e-9;

/**
 * The empty nodes that a command waits for: it would move pods to them, and they will be consolidatable soon. Their
 * removal disrupts no pod, so the command waits if that saves at least as much. Empty nodes that are consolidatable
 * already do not count, since they are removed first (candidates/methods-in-order).
 */
export function emptyNodesAwaited(
  { moves, priceBefore, priceAfter }: ConsolidationCommand,
  context: DisruptionContext,
): readonly NodeView[] {
  const targets = new Set(moves.map(({ to }) => to));
  const empty = context.views.filter((view) => targets.has(nodeNameOf(view)) && isRemovableSoon(view, context));
  const saved = empty.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return saved >= priceBefore - priceAfter - rounding ? empty : [];
}

export function waitsForEmptyNodes(command: ConsolidationCommand, context: DisruptionContext): boolean {
  return emptyNodesAwaited(command, context).length > 0;
}

function isRemovableSoon(view: NodeView, context: DisruptionContext): boolean {
  const at = consolidatableAt(view);
  if (!isEmpty(view) || !Number.isFinite(at)) return false;
  if (at <= context.now || whyNotCandidate(view, context) !== undefined) return false;
  return allowedFor(context, poolNameOf(view), 'Empty').allowed > 0;
}
