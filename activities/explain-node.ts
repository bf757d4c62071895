import { whyNotCandidate } from '../disruption/candidates.js';
import { consolidatableAt } from '../disruption/emptiness.js';
import type { NodeVerdict } from '../workflows/messages.js';
import type { DisruptionView } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { disruptionContext, pausableOf, whyPaused } from './disruption-context.js';

/** Whether a node may be consolidated now and if not why, as `findDisruptions` would judge it (sections 4.1, 4.4). */
export async function explainNode(
  deps: ActivityDeps,
  { node, view }: { readonly node: string; readonly view: DisruptionView },
): Promise<NodeVerdict> {
  const context = await disruptionContext(deps, view);
  const at = new Date(context.now).toISOString();
  const own = context.views.find((each) => pausableOf(each).node === node);
  if (own === undefined) return { node, verdict: 'unknown', why: 'no NodeClaim stands for a node of that name', at };
  const running = view.running.find(({ candidates }) => candidates.some((one) => one.node === node));
  if (running !== undefined) return { node, verdict: 'going', why: `${running.reason}: ${running.workflowId}`, at };
  const why =
    whyPaused(context.pauses, 'Underutilized', pausableOf(own)) ??
    whyNotCandidate(own, context) ??
    notYet(own, context.now);
  return why === undefined
    ? { node, verdict: 'may go', why: 'it goes when that saves something and budgets allow', at }
    : { node, verdict: 'stays', why, at };
}

function notYet(view: Parameters<typeof consolidatableAt>[0], now: number): string | undefined {
  const at = consolidatableAt(view);
  if (at <= now) return undefined;
  return Number.isFinite(at)
    ? `consolidateAfter holds until ${new Date(at).toISOString()}`
    : 'consolidateAfter or a static NodePool keeps it';
}
