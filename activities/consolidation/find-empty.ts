import { emptyNodes } from '../../disruption/consolidation/emptiness.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { candidateOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../look/disruption-context.js';
import { isLookedAt, pausableOf, poolNameOf, rulesByPool, whyPaused } from '../look/disruption-context.js';
import { allowedToPropose, whyAnswered } from '../look/asked.js';
import type { Proposal, Proposals } from '../look/decision-record.js';

/** One payload holds this many candidates at most; the others are found in the next look. */
const candidatesPerCommand = 100;

/** Rule `consolidation/empty-nodes`: every empty node that budgets let go, in one command for all pools that one policy rules. */
export function findEmpty(context: DisruptionContext): Proposals {
  const isFree = (view: NodeView): boolean =>
    isLookedAt(context, poolNameOf(view)) &&
    whyPaused(context.pauses, 'Empty', pausableOf(view)) === undefined &&
    whyAnswered(context, view, 'Empty') === undefined;
  const free = context.views.filter(isFree);
  const allowed = (nodePool: string): ReturnType<typeof allowedToPropose> =>
    allowedToPropose(context, nodePool, 'Empty');
  const decision = emptyNodes(free, allowed, context);
  return {
    proposals: byPolicy(decision.remove.slice(0, candidatesPerCommand), context).map(proposalOf),
    held: decision.held,
    checks: decision.nextCheckAt === undefined ? [] : [decision.nextCheckAt],
  };
}

/** What waits for a person's consent holds up no pool whose policy asks for none. */
function byPolicy(views: readonly NodeView[], context: DisruptionContext): readonly (readonly NodeView[])[] {
  const rules = rulesByPool(context);
  const groups = new Map<string | undefined, NodeView[]>();
  for (const view of views) {
    const { policy } = rules(poolNameOf(view));
    groups.set(policy, [...(groups.get(policy) ?? []), view]);
  }
  return [...groups.values()];
}

function proposalOf(views: readonly NodeView[]): Proposal {
  const candidates = views.map(candidateOf);
  return { reason: 'Empty', method: 'empty', candidates, replacements: [], moves: [], alternatives: [] };
}
