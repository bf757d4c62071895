import type { ConsolidationCommand, ConsolidationInput } from '../../disruption/consolidation/types.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { QuestionToWithdraw } from '../../workflows/messages.js';
import { refusalOf, whyAnswered } from '../disruption-context/open-questions.js';
import { allowedFor } from '../disruption-context/disruption-context.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';

/** How many times the saving of an open question another command needs to replace it. */
const betterThanAsked = 1.5;
/** The same for a refused command. */
const betterThanRefused = 2;

/** Commands that may start, and the open questions that they replace. */
interface Better {
  readonly commands: readonly ConsolidationCommand[];
  readonly moot: readonly QuestionToWithdraw[];
}

const isAnswered = (context: DisruptionContext, view: NodeView): boolean =>
  whyAnswered(context, view, 'Underutilized') !== undefined;

/** The input of a search that includes nodes with open questions or refusals; undefined if there are none. */
export function withAnswered(input: ConsolidationInput, context: DisruptionContext): ConsolidationInput | undefined {
  const kept = new Map(input.kept ?? []);
  for (const view of context.views) {
    const why = whyAnswered(context, view, 'Underutilized');
    if (why !== undefined && kept.get(nodeNameOf(view)) === why) kept.delete(nodeNameOf(view));
  }
  if (kept.size === (input.kept?.size ?? 0)) return undefined;
  const limits = new Map(input.limits ?? []);
  // An open question does not use up the limits of a command that would replace it.
  for (const { nodePool } of context.questions.flatMap(({ candidates }) => candidates)) {
    const allowed = (reason: 'Empty' | 'Underutilized'): number => allowedFor(context, nodePool, reason).allowed;
    limits.set(nodePool, { Empty: allowed('Empty'), Underutilized: allowed('Underutilized') });
  }
  return { ...input, kept, limits };
}

/**
 * Commands for nodes with open questions or refusals that save much more than these. If a command is better than an
 * open question, the question is withdrawn first, and the command is proposed when the question's workflow has ended.
 */
export function betterThanAnswered(commands: readonly ConsolidationCommand[], context: DisruptionContext): Better {
  const byName = new Map(context.views.map((view) => [nodeNameOf(view), view]));
  const moot: QuestionToWithdraw[] = [];
  const free = commands.filter((command) => {
    const views = command.candidates.flatMap((name) => byName.get(name) ?? []);
    const saves = command.priceBefore - command.priceAfter;
    const refused = new Set(views.flatMap((view) => refusalOf(context, view, 'Underutilized') ?? []));
    const turnedDown = [...refused].reduce((sum, one) => sum + one.saves, 0);
    if (saves < betterThanRefused * turnedDown) return false;
    const uids = new Set(views.map(({ claim }) => claim.metadata.uid));
    const open = context.questions.filter(({ candidates }) => candidates.some(({ claim }) => uids.has(claim.uid)));
    if (open.length === 0) return views.some((view) => isAnswered(context, view));
    const asked = open.reduce((sum, one) => sum + (one.saves ?? 0), 0);
    if (saves >= betterThanAsked * asked) moot.push(...open.map(({ workflowId }) => mootBy(command, workflowId)));
    return false;
  });
  return { commands: free, moot };
}

function mootBy({ candidates, priceBefore, priceAfter }: ConsolidationCommand, workflowId: string): QuestionToWithdraw {
  const saves = Math.round((priceBefore - priceAfter) * 1e4) / 1e4;
  return {
    workflowId,
    why: `a better plan for ${candidates.slice(0, 3).join(', ')} saves ${saves} USD an hour`,
    isSuperseded: true,
  };
}
