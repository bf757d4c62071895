import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels, taints } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { isTrue, transitionOf } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import { hasTaint } from '../../core/taints.js';
import type { Allowance, PoolCount } from '../budgets/budgets.js';
import { whyNotCandidate } from '../candidates/candidates.js';
import type { CandidateContext, NodeView } from '../candidates/candidates.js';
import { disruptionCost } from '../candidates/disruption-cost.js';

export interface EmptinessDecision {
  /** The nodes that may go now, best saving first. */
  readonly remove: readonly NodeView[];
  /** Why pools keep empty nodes, for a person. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** When a budget changes or a node becomes consolidatable, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
}

/** Whether nothing that needs another home runs on the node (consolidation/empty-nodes). */
export function isEmpty({ pods }: NodeView): boolean {
  if (pods.some((pod) => pod.metadata.annotations?.[annotations.capacityBufferFakePod] !== undefined)) return false;
  return disruptionCost(pods) <= 1;
}

/** Since when consolidateAfter counts (consolidation/consolidate-after): the last pod event, or initialization. */
export function idleSince({ claim }: Pick<NodeView, 'claim'>): number | undefined {
  const { lastPodEventTime, conditions } = claim.status ?? {};
  if (!isTrue(conditions, 'Initialized')) return undefined;
  return lastPodEventTime === undefined ? transitionOf(conditions, 'Initialized') : Date.parse(lastPodEventTime);
}

/** Until when its NodePool's consolidateAfter lets no pods be moved to the node (consolidation/consolidate-after); nothing holds minus infinity. */
export function settlesAt(view: Pick<NodeView, 'claim' | 'pool'>): number {
  const after = view.pool?.spec.disruption.consolidateAfter ?? 'Never';
  const since = idleSince(view);
  if (after === 'Never' || since === undefined) return Number.NEGATIVE_INFINITY;
  return since + parseNillableDuration(after, 'consolidateAfter');
}

/** From when on the node is Consolidatable (consolidation/consolidate-after); infinity for never. */
export function consolidatableAt(view: NodeView): number {
  const { pool } = view;
  const since = idleSince(view);
  if (pool === undefined || since === undefined || pool.spec.replicas !== undefined) return Number.POSITIVE_INFINITY;
  return since + parseNillableDuration(pool.spec.disruption.consolidateAfter, 'consolidateAfter');
}

/** Rule `consolidation/empty-nodes`: the empty nodes of every dynamic pool that may go within what `allowedFor` says of each. */
export function emptyNodes(
  views: readonly NodeView[],
  allowedFor: (nodePool: string) => Allowance,
  context: CandidateContext,
): EmptinessDecision {
  const remove: NodeView[] = [];
  const held: { nodePool: string; why: string }[] = [];
  const checks: number[] = [];
  for (const [name, members] of byPool(views)) {
    const { empty, why, later } = sift(members, context);
    checks.push(...later);
    const { allowed, ruledBy, changesAt } = allowedFor(name);
    remove.push(...empty.sort(bySaving).slice(0, allowed));
    if (empty.length > allowed) {
      const rule = ruledBy ?? 'what is disrupting already';
      held.push({ nodePool: name, why: `${empty.length} empty, ${allowed} more allowed by ${rule}` });
      if (changesAt !== undefined) checks.push(changesAt);
    } else if (why !== undefined) held.push({ nodePool: name, why });
  }
  return { remove, held, ...(checks.length > 0 ? { nextCheckAt: Math.min(...checks) } : {}) };
}

/** The empty nodes of a pool: those that may go, why one may not, and when others will be consolidatable. */
function sift(
  members: readonly NodeView[],
  context: CandidateContext,
): { readonly empty: NodeView[]; readonly why: string | undefined; readonly later: readonly number[] } {
  const empty: NodeView[] = [];
  const later: number[] = [];
  let why: string | undefined;
  for (const view of members) {
    if (!isEmpty(view)) continue;
    const at = consolidatableAt(view);
    if (at > context.now) {
      if (Number.isFinite(at)) later.push(at);
      continue;
    }
    const reason = whyNotCandidate(view, context);
    if (reason === undefined) empty.push(view);
    else why = `${view.node?.metadata.name ?? view.claim.metadata.name ?? ''}: ${reason}`;
  }
  return { empty, why, later };
}

const none: ReadonlySet<string> = new Set();

/** Rule `budgets/counted-nodes`: what budgets of each pool are counted against. */
export function countPools(
  views: readonly NodeView[],
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): ReadonlyMap<string, PoolCount> {
  const counts = new Map<string, PoolCount>();
  for (const view of views) {
    const { conditions } = view.claim.status ?? {};
    if (!isTrue(conditions, 'Initialized') || isTrue(conditions, 'InstanceTerminating')) continue;
    const name = poolOf(view);
    const { total, disrupting } = counts.get(name) ?? { total: 0, disrupting: 0 };
    counts.set(name, { total: total + 1, disrupting: disrupting + (isDisrupting(view, claimed, judged) ? 1 : 0) });
  }
  return counts;
}

/** Whether budgets count a node as going (budgets/not-ready-nodes-count). */
export function isDisrupting(
  { claim, node }: NodeView,
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): boolean {
  if (claimed.has(claim.metadata.uid ?? '') || claim.metadata.deletionTimestamp !== undefined) return true;
  if (node === undefined || node.metadata.deletionTimestamp !== undefined) return true;
  // Tainted by a disruption that is under way, whoever remembers it.
  const isTainted = hasTaint(node, taints.disrupted) && !judged.has(claim.metadata.uid ?? '');
  return isTainted || !isTrue(node.status?.conditions, 'Ready');
}

function byPool(views: readonly NodeView[]): [string, NodeView[]][] {
  const pools = new Map<string, NodeView[]>();
  for (const view of views) {
    const { pool } = view;
    if (!isDynamic(pool)) continue;
    const name = poolOf(view);
    const members = pools.get(name);
    if (members === undefined) pools.set(name, [view]);
    else members.push(view);
  }
  return [...pools].sort(([a], [b]) => compareText(a, b));
}

function isDynamic(pool: NodePool | undefined): boolean {
  return pool !== undefined && pool.spec.replicas === undefined && pool.spec.disruption.consolidateAfter !== 'Never';
}

function poolOf({ claim }: NodeView): string {
  return claim.metadata.labels?.[labels.nodePool] ?? '';
}

/** Price over disruption cost descending (disruption-cost/order); equal ones by name, so that the order is always the same. */
function bySaving(a: NodeView, b: NodeView): number {
  const difference = b.pricePerHour / disruptionCost(b.pods) - a.pricePerHour / disruptionCost(a.pods);
  return difference === 0 ? compareText(a.claim.metadata.name ?? '', b.claim.metadata.name ?? '') : difference;
}
