import { whyPaused } from '../../cluster/pauses.js';
import { isTrue } from '../../core/conditions.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import type { QuestionToWithdraw, OpenQuestion } from '../../workflows/messages.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { poolNameOf, rulesByPool, pausableOf } from '../disruption-context/disruption-context.js';

const noNodes: ReadonlySet<string> = new Set();

/**
 * Commands that require approval and that no NodeClaim records, because it is gone or the disruption is held. They may
 * have been answered. A command whose nodes count against budgets has begun and is left out.
 */
const withoutClaims = ({ commands, questions, counting }: DisruptionContext): readonly OpenQuestion[] =>
  commands
    .filter(
      ({ asks, workflowId }) =>
        asks === true && !counting.has(workflowId) && !questions.some((one) => one.workflowId === workflowId),
    )
    .map((command) => ({ ...command, isApproved: true }));

interface Cause {
  readonly why: string;
  readonly isSuperseded?: boolean;
}

/**
 * Open questions whose cause is gone. Causes that come and go within moments, such as nominated pods, are left to the
 * validation after the answer.
 */
export function mootQuestions(context: DisruptionContext): readonly QuestionToWithdraw[] {
  const byUid = new Map(context.views.map((view) => [view.claim.metadata.uid ?? '', view]));
  return [...context.questions, ...withoutClaims(context)].flatMap((question) => {
    const own = new Set(question.candidates.map(({ claim }) => claim.uid));
    // The question's own command has claimed the nodes.
    const claimed = new Set([...context.claimed].filter((uid) => !own.has(uid)));
    const steady = { ...context, claimed, nominated: noNodes };
    const causes = question.candidates.map(({ claim, node }): Cause | undefined => {
      const view = byUid.get(claim.uid);
      return view === undefined ? { why: `${node} is gone` } : causeOf(question, view, steady);
    });
    const gone = causes.filter((cause) => cause !== undefined);
    // A question about empty nodes stays open while any of them is empty.
    const isMoot = question.reason === 'Empty' ? gone.length === causes.length : gone.length > 0;
    return isMoot && gone[0] !== undefined ? [{ workflowId: question.workflowId, ...gone[0] }] : [];
  });
}

function causeOf(question: OpenQuestion, view: NodeView, context: DisruptionContext): Cause | undefined {
  const { reason, saves = 0 } = question;
  const node = nodeNameOf(view);
  const nodePool = poolNameOf(view);
  if (view.pool === undefined) return { why: `NodePool ${nodePool} is gone` };
  const rules = rulesByPool(context)(nodePool);
  const policy = `DisruptionPolicy ${rules.policy ?? ''}`;
  if (rules.mode === 'Recommend') return { why: `${policy} has mode Recommend now` };
  if (rules.approval(reason) === undefined) {
    return { why: `no DisruptionPolicy of NodePool ${nodePool} asks for approval any more`, isSuperseded: true };
  }
  // An approved command waits until the pause ends.
  const paused = question.isApproved === true ? undefined : whyPaused(context.pauses, reason, pausableOf(view));
  if (paused !== undefined) return { why: paused };
  if (reason === 'Drifted') return driftCause(view, context);
  const cause = ownCause(reason, view);
  if (cause !== undefined) return cause;
  if (reason === 'Underutilized' && saves < rules.leastDollarsPerHour) {
    return { why: `${policy} asks that a consolidation save more than this one does` };
  }
  const why = whyNotCandidate(view, context);
  return why === undefined ? undefined : { why: `${node}: ${why}` };
}

function driftCause(view: NodeView, context: DisruptionContext): Cause | undefined {
  if (!isTrue(view.claim.status?.conditions, 'Drifted')) return { why: `${nodeNameOf(view)} is not drifted any more` };
  const why = whyNotCandidate(view, context, 'eventual');
  return why === undefined ? undefined : { why: `${nodeNameOf(view)}: ${why}` };
}

/** Why the NodePool or the pods make the question moot; undefined if they do not. */
function ownCause(reason: OpenQuestion['reason'], view: NodeView): Cause | undefined {
  const node = nodeNameOf(view);
  const { consolidateAfter, consolidationPolicy } = view.pool?.spec.disruption ?? {};
  if (consolidateAfter === 'Never') return { why: `consolidateAfter is Never for NodePool ${poolNameOf(view)} now` };
  if (reason === 'Empty') return isEmpty(view) ? undefined : { why: `pods were bound to ${node}` };
  if (isEmpty(view) && consolidatableAt(view) !== Number.POSITIVE_INFINITY) {
    return { why: `the pods of ${node} are gone: it is empty`, isSuperseded: true };
  }
  if (consolidationPolicy === 'WhenEmpty') {
    return { why: `consolidationPolicy is WhenEmpty for NodePool ${poolNameOf(view)} now` };
  }
  return undefined;
}
