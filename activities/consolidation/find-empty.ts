import { whyPaused } from '../../cluster/pauses.js';
import { emptyNodes } from '../../disruption/consolidation/emptiness.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { candidateOf, nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { isInScope, poolNameOf, rulesByPool, pausableOf } from '../disruption-context/disruption-context.js';
import { whyBackedOff } from '../disruption-context/node-memory.js';
import { allowedToPropose, whyAnswered } from '../disruption-context/open-questions.js';
import type { StableSince } from '../disruption-context/stable-since.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';

/** The most candidates of one command, to bound its payload; the next search finds the rest. */
const candidatesPerCommand = 100;

/**
 * All empty nodes that budgets allow (consolidation/empty-nodes), in one command for the NodePools of one
 * DisruptionPolicy.
 */
export function findEmpty(context: DisruptionContext, stableSince: StableSince): Proposals {
  const mayGo = (view: NodeView): boolean =>
    isInScope(context, poolNameOf(view)) &&
    whyAnswered(context, view, 'Empty') === undefined &&
    whyBackedOff(context, view, 'Empty') === undefined;
  const unpaused = (view: NodeView): boolean => whyPaused(context.pauses, 'Empty', pausableOf(view)) === undefined;
  const views = context.views.filter(mayGo);
  const named = new Set(emptyNodes(views, () => ({ allowed: Infinity }), context).remove.map(nodeNameOf));
  stableSince.note(context.views, { named, unasked: new Set(), now: context.now });
  const allowed = (nodePool: string): ReturnType<typeof allowedToPropose> =>
    allowedToPropose(context, nodePool, 'Empty');
  const decision = emptyNodes(views.filter(unpaused), allowed, context);
  return {
    proposals: byPolicy(decision.remove.slice(0, candidatesPerCommand), context).map((group) => {
      const proposal = proposalOf(group);
      return { ...proposal, validationMs: stableSince.restOf(group.map(nodeNameOf), context.now) };
    }),
    held: decision.held,
    checks: decision.nextCheckAt === undefined ? [] : [decision.nextCheckAt],
  };
}

/** Groups nodes by policy, so that the approval of one policy does not delay NodePools of another. */
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
