import { whyPaused } from '../../cluster/pauses.js';
import { waitOf, type DisruptionWait } from '../../cluster/disruption-wait.js';
import { cutText } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { NodeVerdict, Pause, RunningDisruption } from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { ActivityDeps } from '../deps.js';
import { whyNotTaken } from '../consolidation/find-consolidation.js';
import { disruptionContext, iso } from '../disruption-context/disruption-context.js';
import { pausableOf } from '../disruption-context/paused.js';
import { disruptionBlockers, waitOfDrifted } from '../disruption-context/disruption-blockers.js';

/** Whether a node may be consolidated now and if not why, as `findDisruptions` would judge it (candidates/disruptable-nodes). */
export async function explainNode(
  deps: ActivityDeps,
  { node, view }: { readonly node: string; readonly view: DisruptionView },
): Promise<NodeVerdict> {
  const context = await disruptionContext(deps, view);
  const at = iso(context.now);
  const own = context.views.find((each) => pausableOf(each).node === node);
  if (own === undefined) return { node, verdict: 'unknown', why: 'no NodeClaim belongs to a node of that name', at };
  const running = context.running.find(({ candidates }) => candidates.some((one) => one.node === node));
  if (running !== undefined) return { node, verdict: 'going', why: runningText(running, own, context.pauses), at };
  const wait = waitOf(own.claim);
  if (wait !== undefined && !context.questions.some(({ workflowId }) => workflowId === wait.workflow))
    return { node, verdict: 'going', why: waitText(wait), at };
  const why = disruptionBlockers(own, context, context.running);
  const turn = waitOfDrifted(why);
  if (turn !== undefined) return { node, verdict: 'may go', why: turn, at };
  if (why.length > 0)
    return {
      node,
      verdict: 'stays',
      why: cutText(why.map((each) => cutText(each, mostOfPart)).join('; '), mostOfWhy),
      at,
    };
  const costs = await whyNotTaken(deps, context, node);
  if (costs !== undefined) return { node, verdict: 'stays', why: costs, at };
  return {
    node,
    verdict: 'may go',
    why: 'nothing blocks it, and removing it saves something: the next search decides, and what saves most goes first',
    at,
  };
}

const waitText = ({ reason, workflow, why, since }: DisruptionWait): string =>
  `${reason}: ${workflow} waits since ${timeText(since)}: ${why}`;

/** A pause holds what is under way before its next step that cannot be undone. */
function runningText({ reason, workflowId }: RunningDisruption, own: NodeView, pauses: readonly Pause[]): string {
  const paused = whyPaused(pauses, reason, pausableOf(own));
  return `${reason}: ${workflowId}${paused === undefined ? '' : `; ${paused}`}`;
}

/** Reasons may name pods, and repeat what people wrote, of any length. */
const mostOfPart = 1000;
const mostOfWhy = 4000;
