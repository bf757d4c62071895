import { labels, taints } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { hasTaint } from '../../core/taints.js';
import type { NodeView } from '../candidates/candidates.js';
import type { PoolCount } from './budgets.js';

const none: ReadonlySet<string> = new Set();

/** The nodes of each NodePool that its budgets count (budgets/counted-nodes). */
export function countPools(
  views: readonly NodeView[],
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): ReadonlyMap<string, PoolCount> {
  const counts = new Map<string, PoolCount>();
  for (const view of views) {
    const { conditions } = view.claim.status ?? {};
    if (!isTrue(conditions, 'Initialized') || isTrue(conditions, 'InstanceTerminating')) continue;
    const name = view.claim.metadata.labels?.[labels.nodePool] ?? '';
    const { total, disrupting } = counts.get(name) ?? { total: 0, disrupting: 0 };
    counts.set(name, { total: total + 1, disrupting: disrupting + (isDisrupting(view, claimed, judged) ? 1 : 0) });
  }
  return counts;
}

/** Whether budgets count a node as disrupting (budgets/not-ready-nodes-count). */
export function isDisrupting(
  { claim, node }: NodeView,
  claimed: ReadonlySet<string>,
  judged: ReadonlySet<string> = none,
): boolean {
  if (claimed.has(claim.metadata.uid ?? '') || claim.metadata.deletionTimestamp !== undefined) return true;
  if (node === undefined || node.metadata.deletionTimestamp !== undefined) return true;
  // Its taint says that a disruption is under way, even if no workflow is known that holds it.
  const isTainted = hasTaint(node, taints.disrupted) && !judged.has(claim.metadata.uid ?? '');
  return isTainted || !isTrue(node.status?.conditions, 'Ready');
}
