import { labels, taints } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { hasTaint } from '../../core/taints.js';
import type { NodeView } from '../candidates/candidates.js';
import type { PoolCount } from './budgets.js';
import { isDeleting } from '../../core/names.js';

const none: ReadonlySet<string> = new Set();

/** The number of counted and of disrupting nodes, by NodePool. */
export function countPools(
  views: readonly NodeView[],
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): ReadonlyMap<string, PoolCount> {
  const counts = new Map<string, PoolCount>();
  for (const view of views) {
    const counted = countedByBudgets(view, claimed, judged);
    if (counted === 'no') continue;
    const name = view.claim.metadata.labels?.[labels.nodePool] ?? '';
    const { total, disrupting } = counts.get(name) ?? { total: 0, disrupting: 0 };
    counts.set(name, { total: total + 1, disrupting: disrupting + (counted === 'disrupting' ? 1 : 0) });
  }
  return counts;
}

/** How budgets count a node (budgets/counted-nodes); see `isDisrupting` for the parameters. */
export function countedByBudgets(
  view: Pick<NodeView, 'claim' | 'node'>,
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): 'no' | 'running' | 'disrupting' {
  const { conditions } = view.claim.status ?? {};
  if (!isTrue(conditions, 'Initialized') || isTrue(conditions, 'InstanceTerminating')) return 'no';
  return isDisrupting(view, claimed, judged) ? 'disrupting' : 'running';
}

/**
 * Whether budgets count a node as disrupting (budgets/not-ready-nodes-count). `claimed`: UIDs of NodeClaims that a
 * running disruption will remove. `judged`: UIDs of NodeClaims that are being decided about, whose own taint does not
 * count.
 */
export function isDisrupting(
  { claim, node }: Pick<NodeView, 'claim' | 'node'>,
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): boolean {
  if (claimed.has(claim.metadata.uid ?? '') || isDeleting(claim)) return true;
  if (node === undefined || isDeleting(node)) return true;
  // A tainted node is being disrupted, even if the workflow that tainted it is unknown.
  const isTainted = hasTaint(node, taints.disrupted) && !judged.has(claim.metadata.uid ?? '');
  return isTainted || !isTrue(node.status?.conditions, 'Ready');
}
