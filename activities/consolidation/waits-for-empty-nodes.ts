import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../look/disruption-context.js';
import { allowedFor, poolNameOf } from '../look/disruption-context.js';

/** What sums of prices may differ by, dollars per hour. */
const rounding = 1e-9;

const nobody: ReadonlySet<string> = new Set();

/**
 * Whether a command would move pods to empty nodes that will be consolidatable soon. Removing these disrupts no pod, so the
 * command waits if that saves as much. Empty nodes that are consolidatable already do not count, since they are removed first
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
  return saved > 0 && saved >= priceBefore - priceAfter - rounding;
}

function goesSoon(view: NodeView, context: DisruptionContext): boolean {
  const at = consolidatableAt(view);
  if (!isEmpty(view) || !Number.isFinite(at)) return false;
  const node = nodeNameOf(view);
  const isNominated = context.nominated.has(node);
  // One that pods of a drain are awaited on does not go, for as long as that drain takes.
  if (isNominated && !context.nominationEnds.has(node)) return false;
  if (at <= context.now && !isNominated) return false;
  if (whyNotCandidate(view, { ...context, nominated: nobody }) !== undefined) return false;
  return allowedFor(context, poolNameOf(view), 'Empty').allowed > 0;
}
