import { budgetReasons, type DisruptionReason } from '../../api/disruption-reasons.js';
import { digestOf } from '../../core/hash.js';
import type { DecisionSummary } from '../../disruption/command.js';
import type { LeastCost, LeastPossible } from '../../packing/least-possible.js';
import { allowedFor, type DisruptionContext, iso, poolNameOf } from '../disruption-context/disruption-context.js';
import type { BudgetView, DisruptionDetails, NodeWaits } from '../../workflows/messages.js';
import { groupedStays, type StayingNodes } from './staying-nodes.js';
import { rounded } from '../disruption-context/decision-record.js';

const mostPoolsListed = 200;

/**
 * The number of nodes, price and least possible price of each NodePool, and the least possible price of all together.
 */
function capacityDetails(
  { views, pools }: DisruptionContext,
  least: LeastPossible | undefined,
): Pick<DisruptionDetails, 'capacity' | 'leastPossiblePerHour' | 'leastPossibleWithout'> {
  const sums = new Map([...pools.keys()].sort().map((name) => [name, { nodes: 0, pricePerHour: 0 }]));
  for (const view of views) {
    const sum = sums.get(poolNameOf(view));
    // An instance is paid for before it has a Node, and while that drains.
    if (sum === undefined || (view.claim.status?.providerID ?? '') === '') continue;
    sum.nodes += 1;
    sum.pricePerHour += view.pricePerHour;
  }
  const capacity = [...sums].slice(0, mostPoolsListed).map(([nodePool, { nodes, pricePerHour }]) => {
    const known = atMost(pricePerHour, least?.byPool.get(nodePool));
    return { nodePool, nodes, pricePerHour: rounded(pricePerHour), ...known };
  });
  const total = [...sums.values()].reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return { capacity, ...atMost(total, least?.all) };
}

/** The price of running nodes counts even if their offerings are out of capacity now. */
function atMost(
  price: number,
  bound: LeastCost | undefined,
): Pick<DisruptionDetails, 'leastPossiblePerHour' | 'leastPossibleWithout'> {
  if (bound === undefined) return {};
  const { perHour, without } = bound;
  return {
    leastPossiblePerHour: rounded(Math.min(price, perHour)),
    ...(without === 0 ? {} : { leastPossibleWithout: without }),
  };
}

const mostPools = 20;
/** Data for people's queries to `disrupt` between searches. */
export function detailsOf(
  context: DisruptionContext,
  decisions: readonly DecisionSummary[],
  { staying, least, waits }: { staying: StayingNodes; least: LeastPossible | undefined; waits: NodeWaits },
): DisruptionDetails {
  const names = [...context.pools.keys()].sort();
  const listed = names.slice(0, mostPools);
  const budgets = listed.flatMap((nodePool) => budgetReasons.map((reason) => budgetOf(context, nodePool, reason)));
  const cut = listed.length < names.length ? { budgetsCut: true } : {};
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
