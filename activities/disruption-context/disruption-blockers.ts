import { whyPaused } from '../../cluster/pauses.js';
import { isTrue } from '../../core/conditions.js';
import { counted } from '../../core/text.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { RunningDisruption } from '../../workflows/messages.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { whyNotConsolidatable } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { whyAnswered } from './open-questions.js';
import { type DisruptionContext, allowedFor, poolNameOf, rulesByPool, pausableOf } from './disruption-context.js';
import { memoryOf, whyNotMovedAgain, whyBackedOff } from './node-memory.js';
import { timeText } from '../../core/time.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';
import { ruledByText } from '../../disruption/budgets/budgets.js';
import { whyNotDrift } from './why-not-drift.js';
import { whyOnlyRecommended } from '../../disruption/policies/pool-rules.js';

/** The text for a drifted node that nothing blocks. */
const inItsTurn = 'it has drifted: it is replaced in its turn';
const inItsWave = 'it has drifted: the rollout of its NodePool replaces it in one of its waves';

/** The text for a drifted node that nothing blocks; undefined for all others. */
export const waitOfDrifted = (blockers: readonly string[]): string | undefined =>
  blockers.find((text) => text === inItsTurn || text === inItsWave);

/** The most disruptions that are named as using up the budget of a NodePool. */
const mostHolders = 3;

/**
 * Everything that blocks the disruption of a node, not only the first blocker. `why`, `status` and events all use this,
 * so that they agree (surfaces/one-reason). With `running`, the disruptions that use up budgets are named; these change
 * often.
 */
export function disruptionBlockers(
  view: NodeView,
  context: DisruptionContext,
  running: readonly RunningDisruption[] = [],
): readonly string[] {
  return eachOnce([
    ...byDrift(view, context, running),
    ...byPeople(view, context, running),
    ...byState(view, context),
    ...byMemory(view, context),
  ]);
}

/** Removes texts that an earlier text contains; of a text that contains an earlier one, only the last part is kept. */
function eachOnce(blockers: readonly string[]): readonly string[] {
  const said: string[] = [];
  for (const text of blockers) {
    if (said.some((earlier) => earlier.includes(text))) continue;
    const repeats = said.some((earlier) => text.includes(earlier));
    said.push(repeats ? text.slice(text.lastIndexOf('; ') + 2) : text);
  }
  return said;
}

/** Pauses, policies and budgets. */
function byPeople(view: NodeView, context: DisruptionContext, running: readonly RunningDisruption[]): string[] {
  const nodePool = poolNameOf(view);
  const reason = isEmpty(view) ? 'Empty' : 'Underutilized';
  const paused = whyPaused(context.pauses, reason, pausableOf(view));
  const recommended = whyOnlyRecommended(rulesByPool(context)(nodePool));
  const closed = whyClosed(context, nodePool, reason);
  return [
    ...(paused === undefined ? [] : [paused]),
    ...(recommended === undefined ? [] : [recommended]),
    ...(closed === undefined ? [] : [`${closed}${heldBy(running, nodePool)}`]),
  ];
}

/** The limit that allows no disruption in the NodePool for this reason now; undefined if one is allowed. */
function whyClosed(context: DisruptionContext, nodePool: string, reason: DisruptionReason): string | undefined {
  const limit = allowedFor(context, nodePool, reason);
  const { allowed, changesAt } = limit;
  if (allowed > 0) return undefined;
  return `${ruledByText(limit)} allows no more for ${reason}${changesAt === undefined ? '' : ` until ${timeText(changesAt)}`}`;
}

/** Which disruptions use up the budget of the NodePool, and since when. */
function heldBy(running: readonly RunningDisruption[], nodePool: string): string {
  const holders = running.filter(({ candidates }) => candidates.some((one) => one.nodePool === nodePool));
  if (holders.length === 0) return '';
  const listed = holders.slice(0, mostHolders).map(({ workflowId, since }) => `${workflowId} since ${timeText(since)}`);
  const more = holders.length > mostHolders ? ` and ${holders.length - mostHolders} more` : '';
  return ` (held by ${listed.join(', ')}${more})`;
}

/** What blocks the replacement of a drifted node. */
function byDrift(view: NodeView, context: DisruptionContext, running: readonly RunningDisruption[]): string[] {
  if (!isTrue(view.claim.status?.conditions, 'Drifted')) return [];
  const why =
    whyNotDrift(view, context) ??
    context.driftRooms.get(poolNameOf(view))?.why ??
    whyOnlyRecommended(rulesByPool(context)(poolNameOf(view)));
  if (why !== undefined) return [`it has drifted: ${why}`];
  const closed = whyClosed(context, poolNameOf(view), 'Drifted');
  if (closed === undefined) return [context.rollouts.has(poolNameOf(view)) ? inItsWave : inItsTurn];
  return [`it has drifted, and waits: ${closed}${heldBy(running, poolNameOf(view))}`];
}

/** Blockers in the state of the node, of its pods and of the NodePool. */
function byState(view: NodeView, context: DisruptionContext): string[] {
  const why = whyNotCandidate(view, context);
  const notYet = whyNotConsolidatable(view, context.now);
  const onlyEmpty = view.pool?.spec.disruption.consolidationPolicy === 'WhenEmpty' && !isEmpty(view);
  return [
    ...(why === undefined ? [] : [why]),
    ...(notYet === undefined ? [] : [notYet]),
    ...(onlyEmpty ? ['it is not empty, and its NodePool has consolidationPolicy: WhenEmpty'] : []),
  ];
}

/** Blockers from earlier commands. For an empty node only open questions, refusals and failed commands count. */
function byMemory(view: NodeView, context: DisruptionContext): string[] {
  const answered = isEmpty(view)
    ? (whyAnswered(context, view, 'Empty') ?? whyBackedOff(context, view, 'Empty'))
    : whyAnswered(context, view, 'Underutilized');
  if (isEmpty(view) || answered !== undefined) return answered === undefined ? [] : [answered];
  const rules = rulesByPool(context)(poolNameOf(view));
  const rested = whyNotMovedAgain(context, view, rules);
  const depth = memoryOf(context, view)?.depth ?? 0;
  const chain = `its pods were moved ${counted(depth, 'time')} in a row within a day, and maxMoveChain is ${rules.maxMoveChain}`;
  return [...(rested === undefined ? [] : [rested]), ...(depth < rules.maxMoveChain ? [] : [chain])];
}
