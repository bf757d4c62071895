import { compareText, counted, verb } from '../../core/text.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { isStatic } from '../../disruption/static-capacity/static-capacity.js';
import { blankClaim } from '../provisioning/blank-claim.js';
import { candidateOf, nodeNameOf } from '../../cluster/cluster.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';
import type { ActivityDeps } from '../deps.js';
import { type DisruptionContext, isInScope, poolNameOf } from '../disruption-context/disruption-context.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { allowedToPropose } from '../disruption-context/open-questions.js';
import { whyNotDrift } from '../disruption-context/why-not-drift.js';
import { emptyThenOldest } from './drift-order.js';
import { ruledByText } from '../../disruption/budgets/budgets.js';

type Held = { nodePool: string; why: string }[];

/** By static NodePool that can launch no replacement: why not, as the last search found. */
export type UnlaunchablePools = Map<string, string>;

/** The drifted nodes of these NodePools, which stay: `disruptionBlockers` does not know whether a node can be launched. */
export function waitsOfStaticDrift(
  { views, claimed }: Pick<DisruptionContext, 'views' | 'claimed'>,
  unlaunchable: UnlaunchablePools,
): readonly NodeWait[] {
  return views.flatMap((view): readonly NodeWait[] => {
    const why = unlaunchable.get(poolNameOf(view));
    const { metadata, status } = view.claim;
    if (why === undefined || claimed.has(metadata.uid ?? '') || !isTrue(status?.conditions, 'Drifted')) return [];
    return [{ node: nodeNameOf(view), verdict: 'stays', what: `it has drifted: ${why}` }];
  });
}

/**
 * Commands for as many drifted nodes of each static NodePool as its budgets and `limits.nodes` allow, each with one new node of
 * the NodePool's template (drift/static-pools). Pods on the nodes do not matter.
 */
export async function findStaticDrift(
  deps: ActivityDeps,
  context: DisruptionContext,
  unlaunchable: UnlaunchablePools,
): Promise<Proposals> {
  const held: Held = [];
  const checks: number[] = [];
  const proposals: Proposal[] = [];
  if (!deps.gates.StaticCapacity) return { proposals, held, checks };
  for (const [name, pool] of [...context.pools].sort(([a], [b]) => compareText(a, b))) {
    if (!isInScope(context, name)) continue;
    unlaunchable.delete(name);
    if (!isStatic(pool)) continue;
    const going = candidatesOf(context, name, { held, checks });
    if (going.length === 0) continue;
    const blank = await blankClaim(deps, pool);
    if ('reason' in blank) {
      const why = `no new node can be launched: ${blank.reason}`;
      unlaunchable.set(name, why);
      held.push({ nodePool: name, why: `${nodeNameOf(going[0]!)} has drifted: ${why}` });
      continue;
    }
    proposals.push(
      ...going.map((view): Proposal => {
        const reason = conditionOf(view.claim.status?.conditions, 'Drifted')?.reason ?? 'Drifted';
        return {
          reason: 'Drifted',
          method: 'drift',
          candidates: [candidateOf(view)],
          replacements: [blank],
          moves: [],
          alternatives: [{ nodes: nodeNameOf(view), why: `it has drifted: ${reason}` }],
        };
      }),
    );
  }
  return { proposals, held, checks };
}

/** The drifted nodes of a pool that may be replaced now, in Karpenter's order. */
function candidatesOf(
  context: DisruptionContext,
  name: string,
  { held, checks }: { held: Held; checks: number[] },
): readonly NodeView[] {
  const drifted = context.views
    .filter((view) => poolNameOf(view) === name && isTrue(view.claim.status?.conditions, 'Drifted'))
    .filter((view) => {
      const why = whyNotDrift(view, context);
      if (why !== undefined) held.push({ nodePool: name, why: `${nodeNameOf(view)} has drifted: ${why}` });
      return why === undefined;
    })
    .sort(emptyThenOldest);
  if (drifted.length === 0) return [];
  const { room, why: whyNoRoom } = context.driftRooms.get(name) ?? { room: 0, why: undefined };
  const limit = allowedToPropose(context, name, 'Drifted');
  const { allowed, changesAt } = limit;
  if (room < drifted.length || allowed < drifted.length) {
    const bound = room <= allowed ? 'replicas and limits.nodes leave' : `${ruledByText(limit)} allows`;
    const why = whyNoRoom ?? `${bound} ${Math.min(room, allowed)} now`;
    held.push({
      nodePool: name,
      why: `${counted(drifted.length, 'node')} ${verb(drifted.length, 'has', 'have')} drifted: ${why}`,
    });
    if (changesAt !== undefined) checks.push(changesAt);
  }
  return drifted.slice(0, Math.min(room, allowed));
}
