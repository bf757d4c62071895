import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../look/disruption-context.js';
import { allowedFor, poolNameOf } from '../look/disruption-context.js';

const nobody: ReadonlySet<string> = new Set();

/**
 * Whether pods would be moved to nodes that run none and that may go themselves in a moment: their removal disturbs nobody,
 * and when that saves as much it is waited for. Nodes whose time has come are not meant: they would have gone first
 * (candidates/methods-in-order).
 */
export function waitsForEmptyNodes(
  { moves, priceBefore, priceAfter }: ConsolidationCommand,
  context: DisruptionContext,
): boolean {
  const targets = new Set(moves.map(({ to }) => to));
  const saved = context.views
    .filter((view) => targets.has(nodeNameOf(view)) && goesSoon(view, context))
    .reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return saved > 0 && saved >= priceBefore - priceAfter;
}

function goesSoon(view: NodeView, context: DisruptionContext): boolean {
  const at = consolidatableAt(view);
  if (!isEmpty(view) || !Number.isFinite(at)) return false;
  if (at <= context.now && !context.nominated.has(nodeNameOf(view))) return false;
  if (whyNotCandidate(view, { ...context, nominated: nobody }) !== undefined) return false;
  return allowedFor(context, poolNameOf(view), 'Empty').allowed > 0;
}
