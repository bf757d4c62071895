import { cutText } from '../../core/text.js';
import { isTrue } from '../../core/conditions.js';
import { regarding } from '../../core/events.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { consolidatableAt, unsettledSince } from '../../disruption/consolidation/consolidatable.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionDetails } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { disruptionBlockers, waitOfDrifted } from '../disruption-context/disruption-blockers.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { isDeleting } from '../../core/names.js';

const mostListed = 250;
const mostBytes = 48 * 1024;
/** The most characters of a reason. */
const mostOfWhy = 500;
const dedupeMs = 15 * 60_000;

/** A node that stays although it is consolidatable or drifted, or because its pods keep changing. */
interface StayingNode {
  readonly view: NodeView;
  readonly why: string;
  /** Whether its disruption is forbidden; otherwise it would save too little. */
  readonly isForbidden: boolean;
}

export interface StayingNodes {
  readonly listed: readonly StayingNode[];
  /** How many more such nodes were not examined. */
  readonly more: number;
}

/** Whether the node is consolidatable or drifted, regardless of whether that saves anything. */
export function isConsolidatableOrDrifted(view: NodeView, now: number): boolean {
  return isRunning(view) && (consolidatableAt(view) <= now || isTrue(view.claim.status?.conditions, 'Drifted'));
}

const isRunning = ({ node, claim }: NodeView): boolean => node !== undefined && !isDeleting(claim);

/**
 * Consolidatable or drifted nodes that stay, and nodes whose pods keep changing (consolidation/rolling-updates), and
 * why (surfaces/one-reason). `searched`: the last search's reasons for nodes that are not forbidden; `waits`: waits of
 * nodes that the searches found and did not take.
 */
export function stayingNodes(
  context: DisruptionContext,
  {
    searched,
    waits,
  }: { searched: readonly { readonly node: string; readonly why: string }[]; waits: readonly NodeWait[] },
  decided: ReadonlySet<string>,
): StayingNodes {
  const costs = new Map(searched.map(({ node, why }) => [node, why]));
  const stuck = new Map(waits.flatMap(({ node, verdict, what }) => (verdict === 'stays' ? [[node, what]] : [])));
  const uidOf = ({ claim }: NodeView): string => claim.metadata.uid ?? '';
  const open = context.views.filter(
    (view) =>
      (isConsolidatableOrDrifted(view, context.now) ||
        (isRunning(view) && unsettledSince(view, context.now) !== undefined)) &&
      !context.claimed.has(uidOf(view)) &&
      !decided.has(nodeNameOf(view)),
  );
  const listed = open.slice(0, mostListed).flatMap((view): StayingNode[] => {
    const blockers = disruptionBlockers(view, context);
    if (waitOfDrifted(blockers) !== undefined) {
      const why = stuck.get(nodeNameOf(view));
      return why === undefined ? [] : [{ view, why: cutText(why, mostOfWhy), isForbidden: true }];
    }
    const why = blockers.length > 0 ? blockers.join('; ') : costs.get(nodeNameOf(view));
    return why === undefined ? [] : [{ view, why: cutText(why, mostOfWhy), isForbidden: blockers.length > 0 }];
  });
  return { listed, more: open.length - Math.min(open.length, mostListed) };
}

/** Publishes these reasons on Node and NodeClaim, with Karpenter's event reasons (events/of-nodes-not-disrupted). */
export function publishStaying({ events }: Pick<ActivityDeps, 'events'>, { listed }: StayingNodes): void {
  for (const { view, why, isForbidden } of listed) {
    const reason = isForbidden ? 'DisruptionBlocked' : 'Unconsolidatable';
    for (const subject of [regarding('Node', { name: nodeNameOf(view) }), regarding('NodeClaim', view.claim.metadata)])
      events.publish({ regarding: subject, type: 'Normal', reason, message: `Not disrupted: ${why}`, dedupeMs });
  }
}

/** Groups them by reason, within a bounded size, since a reason may contain pod names and annotations of any length. */
export function groupedStays({ listed, more }: StayingNodes): Pick<DisruptionDetails, 'stays' | 'staysMore'> {
  const byWhy = new Map<string, string[]>();
  let room = mostBytes;
  let left = more;
  for (const { view, why } of listed) {
    const node = nodeNameOf(view);
    const nodes = byWhy.get(why);
    room -= node.length + (nodes === undefined ? why.length : 0);
    if (room < 0) left += 1;
    else byWhy.set(why, [...(nodes ?? []), node]);
  }
  const stays = [...byWhy].map(([why, nodes]) => ({ why, nodes }));
  return { stays, ...(left === 0 ? {} : { staysMore: left }) };
}
