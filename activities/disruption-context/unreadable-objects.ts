import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { messageOf } from '../../core/error-message.js';
import { isReschedulable } from '../../core/pods.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import type { PoolCount } from '../../disruption/budgets/budgets.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { CandidateContext, NodeView } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isDisrupting } from '../../disruption/budgets/pool-counts.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import type { LimitsContext } from '../../disruption/budgets/limits.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import { rulesOf } from '../../disruption/policies/pool-rules.js';
import { candidateOf, nodeNameOf } from '../../cluster/cluster.js';
import type { ExcludedObject } from '../../packing/types.js';
import { disruptionReasons } from '../../api/disruption-reasons.js';
import { nameOf } from '../../core/names.js';

/** The objects that decisions can read, and those that are excluded because they cannot be read. */
interface Readable {
  readonly views: readonly NodeView[];
  readonly pools: readonly NodePool[];
  readonly excluded: readonly ExcludedObject[];
  /** The excluded nodes, and all nodes of excluded NodePools. */
  readonly unreadable: readonly NodeView[];
}

/**
 * Excludes nodes and NodePools that cannot be read, which is the case if a function that decisions use throws for them.
 * No method disrupts them, so that one such node does not block decisions about others (candidates/unreadable-nodes).
 */
export function readable(
  { views, pools }: Pick<Readable, 'views' | 'pools'>,
  context: CandidateContext & LimitsContext,
): Readable {
  const excluded: ExcludedObject[] = [];
  const isGood = (kind: string, name: string, ask: () => void): boolean => {
    try {
      ask();
      return true;
    } catch (error) {
      excluded.push({ kind, name, error: messageOf(error) });
      return false;
    }
  };
  const goodPools = pools.filter((pool) => isGood('NodePool', nameOf(pool), () => readPool(pool, context)));
  const bad = new Set(pools.filter((pool) => !goodPools.includes(pool)).map(({ metadata }) => metadata.name));
  const ofGoodPools = views.filter(({ pool }) => pool === undefined || !bad.has(pool.metadata.name));
  const kept = ofGoodPools.filter((view) => isGood('Node', nodeNameOf(view), () => readNode(view, context)));
  const known = new Set(kept);
  return { views: kept, pools: goodPools, excluded, unreadable: views.filter((view) => !known.has(view)) };
}

/** Budgets count excluded nodes as disrupting, because their state is unknown (candidates/unreadable-nodes). */
export function withUnreadable(
  counts: ReadonlyMap<string, PoolCount>,
  without: readonly NodeView[],
): ReadonlyMap<string, PoolCount> {
  const sums = new Map(counts);
  for (const { claim } of without) {
    const name = claim.metadata.labels?.[labels.nodePool] ?? '';
    const { total, disrupting } = sums.get(name) ?? { total: 0, disrupting: 0 };
    sums.set(name, { total: total + 1, disrupting: disrupting + 1 });
  }
  return sums;
}

function readNode(view: NodeView, context: CandidateContext): void {
  candidateOf(view);
  isEmpty(view);
  consolidatableAt(view);
  isDisrupting(view, context.claimed);
  whyNotCandidate(view, context, 'graceful');
  whyNotCandidate(view, context, 'eventual');
  for (const pod of view.pods) {
    isReschedulable(pod);
    doNotDisruptUntil(pod, context.now);
  }
}

function readPool(pool: NodePool, context: LimitsContext): void {
  rulesOf(pool, context.policies ?? []);
  for (const reason of disruptionReasons) limitOf(pool, reason, { total: 1, disrupting: 0 }, context);
}
