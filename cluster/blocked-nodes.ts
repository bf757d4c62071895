import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { messageOf } from '../core/error-message.js';
import { nameOf } from '../core/names.js';
import { limitOf, type LimitsContext } from '../disruption/budgets/limits.js';
import { countPools } from '../disruption/budgets/pool-counts.js';
import {
  type Blocked,
  type CandidateContext,
  notCandidate,
  type NodeView,
} from '../disruption/candidates/candidates.js';
import { whyNotConsolidatable } from '../disruption/consolidation/consolidatable.js';
import { rulesOf, whyOnlyRecommended } from '../disruption/policies/pool-rules.js';
import type { BudgetReason } from '../api/disruption-reasons.js';
import type { PoolCount } from '../disruption/budgets/budgets.js';
import type { Pause } from '../workflows/messages.js';
import { nodeClassOf, nodeNameOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';
import { waitOf } from './disruption-wait.js';
import { labelsOf } from './node-labels.js';
import { pausesInForce, whyPaused } from './pauses.js';
import { pastOf, recordsOf } from './pool-records.js';
import { rolloutHash } from './rollout-hash.js';

interface BlockedContext extends CandidateContext, LimitsContext {
  readonly pauses: readonly Pause[];
  readonly counts: ReadonlyMap<string, PoolCount>;
  /** NodePools whose rollout a person has stopped. */
  readonly stopped: ReadonlySet<string>;
}

/** What `blockedBy` reads, from the objects alone: nominations, rests after failures and searches are not in them. */
export function blockedContext(
  deps: Pick<ClusterDeps, 'cache' | 'cloud' | 'now'>,
  views: readonly NodeView[],
): BlockedContext {
  const { cache } = deps;
  const now = deps.now();
  const pools = cache.all('NodePool');
  const claimed = new Set(
    views.flatMap(({ claim: { metadata, status } }) =>
      isTrue(status?.conditions, 'DisruptionReason') ? [metadata.uid ?? ''] : [],
    ),
  );
  const isStopped = (pool: NodePool): boolean => {
    const stopped = pool.metadata.annotations?.[annotations.driftStopped];
    return (
      stopped !== undefined && stopped === rolloutHash(pool, nodeClassOf(deps, pool.spec.template.spec.nodeClassRef))
    );
  };
  return {
    ...{ now, claimed, nominated: new Set(), podDisruptionBudgets: cache.all('PodDisruptionBudget') },
    policies: cache.all('DisruptionPolicy'),
    pauses: pausesInForce(cache.all('DisruptionPause'), now),
    pastDisruptions: pools.flatMap((pool) => pastOf(nameOf(pool), recordsOf(pool).records)),
    counts: countPools(views, claimed),
    stopped: new Set(pools.filter(isStopped).map(nameOf)),
  };
}

/** What blocks the disruption of the node for this reason; undefined if nothing does. */
export function blockedBy(view: NodeView, reason: BudgetReason, context: BlockedContext): Blocked | undefined {
  try {
    return (
      byState(view, reason, context) ?? byPeople(view, reason, context) ?? byConsolidation(view, reason, context.now)
    );
  } catch (error) {
    // A bad object blocks its own node alone.
    return { blocker: 'unreadable', why: messageOf(error) };
  }
}

const byState = (view: NodeView, reason: string, context: BlockedContext): Blocked | undefined =>
  notCandidate(view, context, reason === 'Drifted' ? 'eventual' : 'graceful');

function byPeople(view: NodeView, reason: BudgetReason, context: BlockedContext): Blocked | undefined {
  const { claim, pool } = view;
  const { nodePool } = labelsOf(claim);
  const paused = whyPaused(context.pauses, reason, { node: nodeNameOf(view), nodePool });
  if (paused !== undefined) return { blocker: 'pause', why: paused };
  const recommended = whyOnlyRecommended(rulesOf(pool, context.policies ?? []));
  if (recommended !== undefined) return { blocker: 'recommend_only', why: recommended };
  if (reason === 'Drifted' && context.stopped.has(nodePool))
    return { blocker: 'rollout_stopped', why: 'the rollout of its NodePool was stopped' };
  const wait = waitOf(claim);
  if (wait?.for === 'Approval' && wait.reason === reason) return { blocker: 'approval', why: wait.why };
  const limit = limitOf(pool, reason, context.counts.get(nodePool) ?? { total: 0, disrupting: 0 }, context);
  if (limit.allowed > 0) return undefined;
  return { blocker: 'budget', why: `${limit.ruledBy ?? 'a budget'} allows no more for ${reason}` };
}

function byConsolidation(view: NodeView, reason: string, now: number): Blocked | undefined {
  if (reason === 'Drifted') return undefined;
  const { consolidateAfter, consolidationPolicy } = view.pool?.spec.disruption ?? {};
  const notYet = whyNotConsolidatable(view, now);
  if (notYet !== undefined)
    return { blocker: consolidateAfter === 'Never' ? 'consolidation_disabled' : 'not_consolidatable', why: notYet };
  return reason === 'Underutilized' && consolidationPolicy === 'WhenEmpty'
    ? { blocker: 'consolidation_disabled', why: 'it is not empty, and its NodePool has consolidationPolicy: WhenEmpty' }
    : undefined;
}
