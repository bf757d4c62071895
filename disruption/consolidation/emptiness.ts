import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { isBufferPod } from '../../core/pods.js';
import { type Allowance, ruledByText } from '../budgets/budgets.js';
import { type CandidateContext, disruptionCost, type NodeView, whyNotCandidate } from '../candidates/candidates.js';
import { consolidatableAt } from './consolidatable.js';
import { nameOf } from '../../core/names.js';

interface EmptinessDecision {
  /** Nodes to remove now, highest saving first. */
  readonly remove: readonly NodeView[];
  /** Why NodePools keep empty nodes, in words. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** When a budget changes or a node becomes consolidatable, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
}

/** Whether no pod on the node needs another node (consolidation/empty-nodes). */
export function isEmpty({ pods }: Pick<NodeView, 'pods'>): boolean {
  return disruptionCost(pods) <= 1 && !pods.some(isBufferPod);
}

/**
 * The empty nodes of all dynamic NodePools that may be removed within what `allowedFor` allows
 * (consolidation/empty-nodes).
 */
export function emptyNodes(
  views: readonly NodeView[],
  allowedFor: (nodePool: string) => Allowance,
  context: CandidateContext,
): EmptinessDecision {
  const remove: NodeView[] = [];
  const held: { nodePool: string; why: string }[] = [];
  const checks: number[] = [];
  for (const [name, members] of byPool(views)) {
    const { empty, why, later } = sortEmpty(members, context);
    checks.push(...later);
    const limit = allowedFor(name);
    const { allowed, changesAt } = limit;
    remove.push(...empty.sort(bySaving).slice(0, allowed));
    if (empty.length > allowed) {
      held.push({ nodePool: name, why: `${empty.length} empty, ${allowed} more allowed by ${ruledByText(limit)}` });
      if (changesAt !== undefined) checks.push(changesAt);
    } else if (why !== undefined) held.push({ nodePool: name, why });
  }
  return { remove, held, ...(checks.length > 0 ? { nextCheckAt: Math.min(...checks) } : {}) };
}

/**
 * Sorts the empty nodes of a NodePool into those to remove and those that are held, with the time when more become
 * consolidatable.
 */
function sortEmpty(
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
    else why = `${view.node?.metadata.name ?? nameOf(view.claim)}: ${reason}`;
  }
  return { empty, why, later };
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

/**
 * By price divided by disruption cost, descending (disruption-cost/order); then by name, so that the order is always
 * the same.
 */
function bySaving(a: NodeView, b: NodeView): number {
  const difference = b.pricePerHour / disruptionCost(b.pods) - a.pricePerHour / disruptionCost(a.pods);
  return difference === 0 ? compareText(nameOf(a.claim), nameOf(b.claim)) : difference;
}
