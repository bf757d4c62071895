import { budgetReasons, type DisruptionReason } from '../../api/disruption-reasons.js';
import { digestOf } from '../../core/hash.js';
import type { DecisionSummary } from '../../disruption/command.js';
import type { LeastPossible } from '../../packing/least-possible.js';
import type { NodeWaits, BudgetView } from '../../workflows/messages.js';
import { type DisruptionContext, allowedFor, iso } from '../disruption-context/disruption-context.js';
import { capacityDetails } from './capacity.js';
import type { DisruptionDetails } from './contract.js';
import { type StayingNodes, groupedStays } from './staying-nodes.js';

const mostPools = 20;
/** Data for people's queries to `disrupt` between searches. */
export function detailsOf(
  context: DisruptionContext,
  decisions: readonly DecisionSummary[],
  { staying, least, waits }: { staying: StayingNodes; least: LeastPossible | undefined; waits: NodeWaits },
): DisruptionDetails {
  const names = [...context.pools.keys()].sort();
  const told = names.slice(0, mostPools);
  const budgets = told.flatMap((nodePool) => budgetReasons.map((reason) => budgetOf(context, nodePool, reason)));
  const cut = told.length < names.length ? { budgetsCut: true } : {};
  const parts = {
    budgets,
    ...cut,
    ...capacityDetails(context, least),
    decisions,
    ...groupedStays(staying),
    ...(waits.length === 0 ? {} : { waits }),
  };
  return { hash: digestOf(parts), ...parts };
}
function budgetOf(context: DisruptionContext, nodePool: string, reason: DisruptionReason): BudgetView {
  const { allowed, ruledBy, changesAt } = allowedFor(context, nodePool, reason);
  const { total, disrupting } = context.counts.get(nodePool) ?? { total: 0, disrupting: 0 };
  return {
    nodePool,
    reason,
    total,
    disrupting,
    allowed,
    ...(ruledBy === undefined ? {} : { ruledBy }),
    ...(changesAt === undefined ? {} : { changesAt: iso(changesAt) }),
  };
}
