import { compareText } from '../../core/compare-text.js';
import { counted, verb } from '../../core/plurals.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { isStatic, staticCounts, staticDriftRoom } from '../../disruption/static-capacity/static-capacity.js';
import { blankClaim } from '../provisioning/blank-claim.js';
import { candidateOf, nodeNameOf } from '../../cluster/cluster.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { isInScope, poolNameOf } from '../disruption-context/disruption-context.js';
import { whyBackedOff } from '../disruption-context/node-memory.js';
import { pausableOf, whyPaused } from '../disruption-context/paused.js';
import { allowedToPropose, whyAnswered } from '../disruption-context/open-questions.js';
import { emptyThenOldest } from './drift-order.js';
import { replacementsIn } from '../static-capacity/replicas.js';
import { ruledByText } from '../../disruption/budgets/budgets.js';

type Held = { nodePool: string; why: string }[];

/**
 * Commands for as many drifted nodes of each static NodePool as its budgets and `limits.nodes` allow, each with one new node of
 * the NodePool's template (drift/static-pools). Pods on the nodes do not matter.
 */
export async function findStaticDrift(deps: ActivityDeps, context: DisruptionContext): Promise<Proposals> {
  const held: Held = [];
  const checks: number[] = [];
  const proposals: Proposal[] = [];
  if (!deps.gates.StaticCapacity) return { proposals, held, checks };
  for (const [name, pool] of [...context.pools].sort(([a], [b]) => compareText(a, b))) {
    if (!isStatic(pool) || !isInScope(context, name)) continue;
    const going = candidatesOf(deps, context, { name, pool }, { held, checks });
    if (going.length === 0) continue;
    const blank = await blankClaim(deps, pool);
    if ('reason' in blank) {
      held.push({
        nodePool: name,
        why: `${nodeNameOf(going[0]!)} has drifted: no new node can be launched: ${blank.reason}`,
      });
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
  deps: ActivityDeps,
  context: DisruptionContext,
  { name, pool }: { name: string; pool: NodePool },
  { held, checks }: { held: Held; checks: number[] },
): readonly NodeView[] {
  const members = context.views.filter((view) => poolNameOf(view) === name);
  const drifted = members
    .filter(({ claim }) => isTrue(claim.status?.conditions, 'Drifted'))
    .filter((view) => {
      const why = whyNotNow(view, context);
      if (why !== undefined) held.push({ nodePool: name, why: `${nodeNameOf(view)} has drifted: ${why}` });
      return why === undefined;
    })
    .sort(emptyThenOldest);
  if (drifted.length === 0) return [];
  const counts = staticCounts(members, {
    deleting: new Set(),
    claimed: context.claimed,
    isReplaced: replacementsIn(
      deps.cluster,
      members.map(({ claim }) => claim),
    ),
  });
  const room = staticDriftRoom(pool, counts);
  const limit = allowedToPropose(context, name, 'Drifted');
  const { allowed, changesAt } = limit;
  if (room < drifted.length || allowed < drifted.length) {
    const why = room <= allowed ? 'replicas and limits.nodes leave' : `${ruledByText(limit)} allows`;
    held.push({
      nodePool: name,
      why: `${counted(drifted.length, 'node')} ${verb(drifted.length, 'has', 'have')} drifted: ${why} ${Math.min(room, allowed)} now`,
    });
    if (changesAt !== undefined) checks.push(changesAt);
  }
  return drifted.slice(0, Math.min(room, allowed));
}

function whyNotNow(view: NodeView, context: DisruptionContext): string | undefined {
  return (
    whyPaused(context.pauses, 'Drifted', pausableOf(view)) ??
    whyAnswered(context, view, 'Drifted') ??
    whyBackedOff(context, view, 'Drifted') ??
    whyNotCandidate(view, context, 'eventual')
  );
}
