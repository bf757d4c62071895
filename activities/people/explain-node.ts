import type { NodeView } from '../../disruption/candidates/candidates.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { cutText } from '../../core/cut-text.js';
import { isTrue } from '../../core/conditions.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import type { NodeVerdict } from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption/contract.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../look/disruption-context.js';
import { whyNotTaken } from '../consolidation/find-consolidation.js';
import { whyAnswered } from '../look/asked.js';
import {
  allowedFor,
  disruptionContext,
  iso,
  memoryOf,
  pausableOf,
  poolNameOf,
  rulesByPool,
  whyPaused,
  whyRested,
  whyRests,
} from '../look/disruption-context.js';
import { counted } from '../../core/plurals.js';

/**
 * Whether a node may be consolidated now and if not why, as `findDisruptions` would judge it (candidates/who-may-go): all
 * that keeps it, not the first thing alone.
 */
export async function explainNode(
  deps: ActivityDeps,
  { node, view }: { readonly node: string; readonly view: DisruptionView },
): Promise<NodeVerdict> {
  const context = await disruptionContext(deps, view);
  const at = iso(context.now);
  const own = context.views.find((each) => pausableOf(each).node === node);
  if (own === undefined) return { node, verdict: 'unknown', why: 'no NodeClaim stands for a node of that name', at };
  const running = view.running.find(({ candidates }) => candidates.some((one) => one.node === node));
  if (running !== undefined) return { node, verdict: 'going', why: `${running.reason}: ${running.workflowId}`, at };
  const why = [
    ...byDrift(own, context, view.running),
    ...byPeople(own, context, view.running),
    ...byState(own, context),
    ...byMemory(own, context),
  ];
  if (why.length > 0)
    return {
      node,
      verdict: 'stays',
      why: cutText(why.map((each) => cutText(each, mostOfPart)).join('; '), mostOfWhy),
      at,
    };
  const costs = await whyNotTaken(deps, context, node);
  const whether = costs === undefined ? 'and taking it saves something: it goes in its turn' : `and it stays: ${costs}`;
  return { node, verdict: 'may go', why: `nothing forbids it, ${whether}`, at };
}

/** Reasons may name pods, and repeat what people wrote, of any length. */
const mostOfPart = 1000;
const mostOfWhy = 4000;

/** Pauses, policies and budgets. */
function byPeople(view: NodeView, context: DisruptionContext, running: DisruptionView['running']): string[] {
  const nodePool = poolNameOf(view);
  const reason = isEmpty(view) ? 'Empty' : 'Underutilized';
  const paused = whyPaused(context.pauses, reason, pausableOf(view));
  const { policy, mode } = rulesByPool(context)(nodePool);
  const { allowed, ruledBy, changesAt } = allowedFor(context, nodePool, reason);
  const until = changesAt === undefined ? '' : ` until ${iso(changesAt)}`;
  return [
    ...(paused === undefined ? [] : [paused]),
    ...(mode === 'Recommend' ? [`DisruptionPolicy ${policy ?? ''} has mode Recommend`] : []),
    ...(allowed > 0
      ? []
      : [
          `${ruledBy ?? 'what is disrupting already'} allows no more for ${reason}${until}${heldBy(running, nodePool)}`,
        ]),
  ];
}

/** Which disruptions take the pool's budget, and since when. */
function heldBy(running: DisruptionView['running'], nodePool: string): string {
  const holders = running.filter(({ candidates }) => candidates.some((one) => one.nodePool === nodePool));
  if (holders.length === 0) return '';
  const told = holders.slice(0, holdersTold).map(({ workflowId, since }) => `${workflowId} since ${iso(since)}`);
  const more = holders.length > holdersTold ? ` and ${holders.length - holdersTold} more` : '';
  return ` (held by ${told.join(', ')}${more})`;
}

/** What keeps a drifted node from being replaced. */
function byDrift(view: NodeView, context: DisruptionContext, running: DisruptionView['running']): string[] {
  if (!isTrue(view.claim.status?.conditions, 'Drifted')) return [];
  const why =
    whyPaused(context.pauses, 'Drifted', pausableOf(view)) ??
    whyAnswered(context, view, 'Drifted') ??
    whyRests(context, view, 'Drifted') ??
    whyNotCandidate(view, context, 'eventual');
  if (why !== undefined) return [`it has drifted, and stays: ${why}`];
  const { allowed, ruledBy = 'what is disrupting already' } = allowedFor(context, poolNameOf(view), 'Drifted');
  if (allowed > 0) return ['it has drifted: it is replaced in its turn'];
  return [`it has drifted, and waits: ${ruledBy} allows no more${heldBy(running, poolNameOf(view))}`];
}

const holdersTold = 3;

/** What the node, its pods and the pool's own rules say. */
function byState(view: NodeView, context: DisruptionContext): string[] {
  const why = whyNotCandidate(view, context);
  const notYet = whyNotYet(view, context.now);
  const onlyEmpty = view.pool?.spec.disruption.consolidationPolicy === 'WhenEmpty' && !isEmpty(view);
  return [
    ...(why === undefined ? [] : [why]),
    ...(notYet === undefined ? [] : [notYet]),
    ...(onlyEmpty ? ['it is not empty, and consolidationPolicy: WhenEmpty holds for its NodePool'] : []),
  ];
}

/** What happened to it lately: an empty node goes all the same, unless a person said no. */
function byMemory(view: NodeView, context: DisruptionContext): string[] {
  const answered = whyAnswered(context, view, isEmpty(view) ? 'Empty' : 'Underutilized');
  if (isEmpty(view) || answered !== undefined) return answered === undefined ? [] : [answered];
  const rules = rulesByPool(context)(poolNameOf(view));
  const rested = whyRested(context, view, rules);
  const depth = memoryOf(context, view)?.depth ?? 0;
  const chain = `its pods were moved ${counted(depth, 'time')} in a row within a day, and maxMoveChain is ${rules.maxMoveChain}`;
  return [...(rested === undefined ? [] : [rested]), ...(depth < rules.maxMoveChain ? [] : [chain])];
}

function whyNotYet(view: NodeView, now: number): string | undefined {
  const at = consolidatableAt(view);
  if (at <= now) return undefined;
  return Number.isFinite(at) ? `consolidateAfter holds until ${iso(at)}` : whyNever(view);
}

function whyNever({ pool }: NodeView): string {
  if (pool?.spec.replicas !== undefined) return 'its NodePool is static';
  return pool?.spec.disruption.consolidateAfter === 'Never'
    ? 'consolidateAfter: Never holds for its NodePool'
    : 'it is not initialized';
}
