import type { NodeView } from '../../disruption/candidates/candidates.js';
import { compareText, counted, verb } from '../../core/text.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { type Place, whyNoPlace } from '../../packing/places.js';
import type { PlannedClaim } from '../../packing/types.js';
import { candidateOf, cataloguesOf, nodeNameOf } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';
import { type DisruptionContext, isInScope, poolNameOf } from '../disruption-context/disruption-context.js';
import { allowedToPropose } from '../disruption-context/open-questions.js';
import { whyNotDrift } from '../disruption-context/why-not-drift.js';
import { isStatic } from '../../disruption/static-capacity/static-capacity.js';
import { emptyThenOldest } from '../../cluster/drift-order.js';
import { packingInput } from '../../cluster/packing-input.js';
import { placementOf } from '../placement.js';
import { launchesFingerprint } from '../disruption-context/search-fingerprint.js';
import { movablePods, type NoPlace, type SkippedNodes } from './skipped-nodes.js';
import { ruledByText } from '../../disruption/budgets/budgets.js';
import { blankClaim } from '../provisioning/blank-claim.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { fullName } from '../../core/names.js';

/**
 * The most simulations of one search. Nodes without a command are skipped for a while, so that the next search gets
 * further.
 */
const mostTried = 5;

/**
 * One command for the node that drifted first; nodes without pods to move come before others (drift/oldest-first).
 * Independent of consolidation policies and prices. A node without a command is skipped for a while, so that it does
 * not block the others. NodePools with a rollout (`driftRollout`) are excluded.
 */
export async function findDrift(
  deps: ActivityDeps,
  context: DisruptionContext,
  skipped: SkippedNodes,
): Promise<Proposals> {
  const held: { nodePool: string; why: string }[] = [];
  const checks: number[] = [];
  const drifted = driftedNodes(context);
  if (drifted.length === 0 && skipped.isEmpty) return { proposals: [], held, checks };
  const launches = launchesFingerprint(context, await cataloguesOf(deps, [...context.pools.values()]));
  const wanted = skipped
    .without(drifted, { launches, now: context.now })
    .filter((view) => isAllowed(view, context, { held, checks }));
  for (const view of wanted.slice(0, mostTried)) {
    const proposal = await simulate(deps, context, view);
    if (!('why' in proposal)) return { proposals: [proposal], held, checks };
    checks.push(skipped.add(view, proposal, { launches, now: context.now }));
    held.push({ nodePool: poolNameOf(view), why: `${nodeNameOf(view)} has drifted: ${proposal.why}` });
  }
  if (wanted.length > mostTried) checks.push(context.now + 1000);
  return { proposals: [], held, checks };
}

function driftedNodes(context: DisruptionContext): NodeView[] {
  const drifted = context.views.filter(
    (view) => isInScope(context, poolNameOf(view)) && isReplacedOnItsOwn(view, context),
  );
  return drifted.sort(emptyThenOldest);
}

/** Whether the node has drifted and is replaced individually: nodes of static NodePools and of rollouts are not. */
export function isReplacedOnItsOwn(view: NodeView, { rollouts }: Pick<DisruptionContext, 'rollouts'>): boolean {
  const { claim, pool } = view;
  return isTrue(claim.status?.conditions, 'Drifted') && !isStatic(pool) && !rollouts.has(poolNameOf(view));
}

function isAllowed(
  view: NodeView,
  context: DisruptionContext,
  { held, checks }: { held: { nodePool: string; why: string }[]; checks: number[] },
): boolean {
  const nodePool = poolNameOf(view);
  const why = whyNotDrift(view, context);
  if (why !== undefined) {
    held.push({ nodePool, why: `${nodeNameOf(view)} has drifted: ${why}` });
    return false;
  }
  const limit = allowedToPropose(context, nodePool, 'Drifted');
  const { allowed, changesAt } = limit;
  if (allowed > 0) return true;
  held.push({
    nodePool,
    why: `${nodeNameOf(view)} has drifted: ${ruledByText(limit)} allows no more`,
  });
  if (changesAt !== undefined) checks.push(changesAt);
  return false;
}

/** The command for one node, or why there is none. */
async function simulate(deps: ActivityDeps, context: DisruptionContext, view: NodeView): Promise<Proposal | NoPlace> {
  const name = nodeNameOf(view);
  const own = new Set(movablePods(view).map(fullName));
  const base = { reason: 'Drifted', method: 'drift', candidates: [candidateOf(view)] } as const;
  const condition = conditionOf(view.claim.status?.conditions, 'Drifted');
  const alternatives = [{ nodes: name, why: `it has drifted: ${condition?.reason ?? 'Drifted'}` }];
  if (own.size === 0) return { ...base, replacements: [], moves: [], alternatives };
  const input = await packingInput(deps, [...context.pools.values()], [name, ...context.disrupting]);
  const { places, claims } = await placementOf(deps, input, own);
  const stuck = firstWithoutPlace(places, context);
  if (stuck !== undefined) return stuck;
  const replacements = claims.filter(({ pods }) => pods.some((pod) => own.has(pod)));
  const moves = [...places].flatMap(([pod, place]) => moveOf(pod, place, replacements));
  return { ...base, replacements, moves: moves.sort((a, b) => compareText(a.pod, b.pod)), alternatives };
}

function moveOf(
  pod: string,
  place: Place,
  replacements: readonly PlannedClaim[],
): readonly { readonly pod: string; readonly to: string }[] {
  if (place.state === 'existing') return [{ pod, to: place.node }];
  return place.state === 'launched' ? [{ pod, to: `replacement-0-${replacements.indexOf(place.claim)}` }] : [];
}

/** The first pod without a place (drift/every-pod-has-a-place), or with a place on a node that is not initialized. */
function firstWithoutPlace(places: ReadonlyMap<string, Place>, context: DisruptionContext): NoPlace | undefined {
  for (const [pod, place] of places) {
    const reason = whyNoPlace(place);
    if (reason !== undefined) return { why: `pod ${pod} would have no place: ${reason}`, soon: false };
  }
  const unready = onUnreadyNode(places, context);
  return unready === undefined ? undefined : { why: unready, soon: true };
}

/** A node that is not initialized does not count as a place (consolidation/room-on-starting-nodes). */
function onUnreadyNode(places: ReadonlyMap<string, Place>, { views }: DisruptionContext): string | undefined {
  const unready = new Set(
    views.filter(({ claim }) => !isTrue(claim.status?.conditions, 'Initialized')).map((view) => nodeNameOf(view)),
  );
  for (const place of places.values()) {
    if (place.state === 'existing' && unready.has(place.node))
      return `its pods would go to ${place.node}, which is not initialized yet`;
  }
  return undefined;
}

type Held = { nodePool: string; why: string }[];

/** Static NodePools that can launch no replacement, and why, from the last search. */
export type UnlaunchablePools = Map<string, string>;

/** Waits of the drifted nodes of these NodePools: `disruptionBlockers` does not know whether a node can be launched. */
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
 * Commands for as many drifted nodes of each static NodePool as its budgets and `limits.nodes` allow, each with one new
 * node of the NodePool's template (drift/static-pools). Pods on the nodes do not matter.
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
