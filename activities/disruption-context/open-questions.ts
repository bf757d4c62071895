import { whyPaused } from '../../cluster/pauses.js';
import { isTrue } from '../../core/conditions.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { Allowance } from '../../disruption/budgets/budgets.js';
import type { OpenQuestion, Refused } from '../../workflows/messages.js';
import type { DisruptionContext } from './disruption-context.js';
import { allowedFor, poolNameOf, rulesByPool, pausableOf } from './disruption-context.js';
import { whyBackedOff } from './node-memory.js';
import { timeText } from '../../core/time.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

/**
 * The order of the methods (candidates/methods-in-order): a command of an earlier method replaces a question of a later
 * one.
 */
const order: readonly DisruptionReason[] = ['Empty', 'Drifted', 'Underutilized'];

const uidOf = ({ claim }: NodeView): string => claim.metadata.uid ?? '';

/** The open question about the node that a proposal for this reason would only repeat. */
function questionAbout(
  { questions }: Pick<DisruptionContext, 'questions'>,
  view: NodeView,
  reason: DisruptionReason,
): OpenQuestion | undefined {
  const uid = uidOf(view);
  return questions.find((one) => holdsUp(one.reason, reason) && one.candidates.some(({ claim }) => claim.uid === uid));
}

/** Drift does not wait for the answer to a question about an empty node (people/drift-before-empty). */
function holdsUp(asked: DisruptionReason, reason: DisruptionReason): boolean {
  if (asked === 'Empty' && reason === 'Drifted') return false;
  return order.indexOf(asked) <= order.indexOf(reason);
}

/** Whether drift takes the node or asks about it, so that there is no second question about it as an empty node. */
function isTakenByDrift(context: DisruptionContext, view: NodeView): boolean {
  const uid = uidOf(view);
  const nodePool = poolNameOf(view);
  if (!isTrue(view.claim.status?.conditions, 'Drifted') || context.rollouts.has(nodePool)) return false;
  const isAskedAbout = context.questions.some(
    (one) => one.reason === 'Drifted' && one.candidates.some(({ claim }) => claim.uid === uid),
  );
  if (isAskedAbout) return true;
  return (
    whyPaused(context.pauses, 'Drifted', pausableOf(view)) === undefined &&
    refusalOf(context, view, 'Drifted') === undefined &&
    whyBackedOff(context, view, 'Drifted') === undefined &&
    context.driftRooms.get(nodePool)?.why === undefined &&
    allowedToPropose(context, nodePool, 'Drifted').allowed > 0
  );
}

/** The refusal by a person of a command for this node with this reason. */
export function refusalOf(
  { refused, now }: Pick<DisruptionContext, 'refused' | 'now'>,
  view: NodeView,
  reason: DisruptionReason,
): Refused | undefined {
  const uid = uidOf(view);
  return refused.find(
    (one) => one.reason === reason && one.until > now && one.nodes.some(({ claim }) => claim.uid === uid),
  );
}

/** Why the node is not proposed for this reason: a question about it is open, or a person refused it. */
export function whyAnswered(context: DisruptionContext, view: NodeView, reason: DisruptionReason): string | undefined {
  const question = questionAbout(context, view, reason);
  if (question !== undefined) {
    const { workflowId, since } = question;
    return `${workflowId} ${approvalWaitText(question, `its disruption (${question.reason})`)}, decided at ${timeText(since)}`;
  }
  if (
    reason === 'Empty' &&
    rulesByPool(context)(poolNameOf(view)).approval('Empty') !== undefined &&
    isTakenByDrift(context, view)
  )
    return 'it is disrupted as a drifted node';
  const refusal = refusalOf(context, view, reason);
  if (refusal === undefined) return undefined;
  const { why, until, nodes } = refusal;
  const [first] = nodes;
  return `${why}: not proposed again for ${reason} before ${timeText(until)} (stowage reconsider --node ${first?.node ?? ''} undoes it)`;
}

/**
 * As `allowedFor`, less the nodes with open questions for this reason, so that no more nodes are proposed than may be
 * disrupted at a time.
 */
export function allowedToPropose(context: DisruptionContext, nodePool: string, reason: DisruptionReason): Allowance {
  const allowance = allowedFor(context, nodePool, reason);
  if (context.questions.length === 0 || rulesByPool(context)(nodePool).approval(reason) === undefined) return allowance;
  const asked = context.questions
    .filter((one) => one.reason === reason)
    .flatMap(({ candidates }) => candidates.filter((one) => one.nodePool === nodePool)).length;
  if (asked === 0) return allowance;
  const allowed = Math.max(0, allowance.allowed - asked);
  return {
    ...allowance,
    allowed,
    ...(allowed > 0
      ? {}
      : { ruledBy: `what waits for approval or for its turn after it, and ${allowance.ruledBy ?? 'the budget'},` }),
  };
}

/** What a command that people are asked about waits for: the answer, or after it its turn. `what` is the command, if its name does not say so. */
function approvalWaitText({ isApproved = false }: { readonly isApproved?: boolean }, what?: string): string {
  const of = what === undefined ? '' : ` of ${what}`;
  return isApproved ? `waits for its turn after the approval${of}` : `waits for approval${of}`;
}
