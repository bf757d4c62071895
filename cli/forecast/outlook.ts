import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { emptyThenOldest } from '../../cluster/drift-order.js';
import { fullName, isDeleting, nameOf } from '../../core/names.js';
import { lookUp } from '../../core/own.js';
import { isReschedulable } from '../../core/pods.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import { countPools } from '../../disruption/budgets/pool-counts.js';
import { type NodeView, whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { pricesIn } from '../../disruption/candidates/node-prices.js';
import { podsByNode } from '../../disruption/consolidation/eligibility.js';
import { consolidateFleet } from '../../disruption/consolidation/search.js';
import type { Consolidation } from '../../disruption/consolidation/types.js';
import { rulesOf, whyOnlyRecommended } from '../../disruption/policies/pool-rules.js';
import { isStatic } from '../../disruption/static-capacity/static-capacity.js';
import { placesOf, whyNoPlace } from '../../packing/places.js';
import { plan } from '../../packing/plan.js';
import type { ClusterObjects, PackingInput, Plan } from '../../packing/types.js';
import { leastSavingsByPool } from '../objects/at-rest.js';
import { type DriftReasons, nodePoolOfClaim } from './node-drift.js';
import { carriedOut } from './settle.js';
import { turnsOf } from './turns.js';
import type { Forecast, ForecastSnapshot, DriftTurn } from './types.js';

/** What happens to a cluster by itself: pending pods get nodes, drift is replaced, the fleet is consolidated. */
export interface Outlook {
  readonly drifted: readonly { readonly node: string; readonly pool: string; readonly reason: string }[];
  readonly stays: Forecast['stays'];
  readonly turns: readonly DriftTurn[];
  readonly plan: Plan;
  /** Why pods have no place, by pod. */
  readonly noPlace: ReadonlyMap<string, string>;
  /** Number of nodes that go, by reason and NodePool. */
  readonly disrupted: ReadonlyMap<string, number>;
  /** When budgets and windows first allow that, by the same keys, where it is not now; undefined for never. */
  readonly opens: ReadonlyMap<string, number | undefined>;
  readonly pricePerHour: number;
  readonly pools: ReadonlyMap<string, { readonly nodes: number; readonly pricePerHour: number }>;
}

/** `reason pool`, as `Outlook.disrupted` counts it. */
export type DisruptedReason = Forecast['disruptions'][number]['reason'];
export const disruptedKey = (reason: DisruptedReason, pool: string): string => `${reason} ${pool}`;

/** How often a plan is repeated because nodes stay whose pods it does not place. */
const mostPlans = 10;

export function outlookOf({ input, spotToSpot }: ForecastSnapshot, reasons: DriftReasons): Outlook {
  const { objects, now } = input;
  const views = viewsOf(objects);
  const policies = objects.disruptionPolicies ?? [];
  const context = {
    ...{ now, claimed: new Set<string>(), nominated: new Set<string>() },
    podDisruptionBudgets: objects.podDisruptionBudgets ?? [],
  };
  const drifted = views.filter(({ claim }) => reasons.has(nameOf(claim))).sort(emptyThenOldest);
  const stays = new Map<string, { readonly pool: string; readonly why: string }>();
  const stay = (view: NodeView, why: string): void =>
    void stays.set(nodeOf(view), { pool: nodePoolOfClaim(view.claim), why });
  for (const view of drifted) {
    const why = whyOnlyRecommended(rulesOf(view.pool, policies)) ?? whyNotCandidate(view, context, 'eventual');
    if (why !== undefined) stay(view, why);
  }
  const isGoing = (view: NodeView): boolean => !stays.has(nodeOf(view));
  const { never } = turnsOfPools(drifted.filter(isGoing), { views, policies, now });
  for (const { node, why } of never) stays.set(node, { pool: nodePoolOfClaim(byNode(views, node).claim), why });
  // A node of a static NodePool is replaced by an equal one (drift/static-pools).
  const moving = drifted.filter((view) => isGoing(view) && !isStatic(view.pool));
  const planned = planWithout(input, moving);
  for (const [node, why] of planned.kept) stays.set(node, { pool: nodePoolOfClaim(byNode(views, node).claim), why });
  const deleting = views.filter(({ claim, node }) => isDeleting(claim) || (node !== undefined && isDeleting(node)));
  const gone = new Set([...planned.gone, ...deleting.map(nodeOf)]);
  const after = { ...input, objects: carriedOut(input, planned.plan, gone), withoutNodes: new Set<string>() };
  const { opened, opens } = atNextOpening(after);
  const settled = consolidateFleet({
    ...after,
    objects: opened,
    spotToSpot,
    leastSavings: leastSavingsByPool(objects),
  });
  const going = drifted.filter(isGoing);
  return {
    drifted: drifted.map((view) => ({
      ...{ node: nodeOf(view), pool: nodePoolOfClaim(view.claim), reason: reasons.get(nameOf(view.claim)) ?? '' },
    })),
    stays: [...stays].map(([node, { pool, why }]) => ({ node, pool, why })),
    turns: turnsOfPools(going, { views, policies, now }).turns,
    plan: planned.plan,
    noPlace: planned.noPlace,
    opens,
    disrupted: disruptedOf(views, { drifted: going, deleting, settled }),
    ...fleetOf(after, settled),
  };
}

const nodeOf = ({ claim, node }: NodeView): string => (node === undefined ? nameOf(claim) : nameOf(node));

const byNode = (views: readonly NodeView[], name: string): NodeView => views.find((view) => nodeOf(view) === name)!;

/** Claims at rest name their nodes. */
function viewsOf({ nodes = [], nodeClaims = [], nodePools, pods }: ClusterObjects): NodeView[] {
  const byName = new Map(nodes.map((node) => [nameOf(node), node]));
  const pools = new Map(nodePools.map((pool) => [nameOf(pool), pool]));
  const podsOn = podsByNode(pods);
  return nodeClaims.map((claim) => {
    const node = byName.get(claim.status?.nodeName ?? '');
    return {
      ...{ claim, node, pool: pools.get(nodePoolOfClaim(claim)), pricePerHour: 0 },
      pods: node === undefined ? [] : (podsOn.get(nameOf(node)) ?? []),
    };
  });
}

function turnsOfPools(
  drifted: readonly NodeView[],
  {
    views,
    policies,
    now,
  }: { views: readonly NodeView[]; policies: Parameters<typeof turnsOf>[0]['policies']; now: number },
): ReturnType<typeof turnsOf> {
  const counts = countPools(views, new Set());
  const byPool = new Map<NodePool, NodeView[]>();
  for (const view of drifted)
    if (view.pool !== undefined) byPool.set(view.pool, [...(byPool.get(view.pool) ?? []), view]);
  const found = [...byPool].map(([pool, members]) =>
    turnsOf({
      pool,
      drifted: members.map((view) => ({
        ...{ uid: view.claim.metadata.uid ?? '', node: nodeOf(view), nodePool: nameOf(pool) },
      })),
      count: counts.get(nameOf(pool)) ?? { total: 0, disrupting: 0 },
      ...{ policies, now },
    }),
  );
  return { turns: found.flatMap(({ turns }) => turns), never: found.flatMap(({ never }) => never) };
}

const consolidating = ['Empty', 'Underutilized'] as const;

/**
 * The objects as consolidation finds them when windows are open: a NodePool that lets no node go now has the budget of
 * its next opening. Windows and rates only say when, and not how cheap the fleet becomes.
 */
function atNextOpening({ objects, now }: PackingInput): Pick<Outlook, 'opens'> & { readonly opened: ClusterObjects } {
  const policies = objects.disruptionPolicies ?? [];
  const counts = countPools(viewsOf(objects), new Set());
  const opens = new Map<string, number | undefined>();
  const nodePools = objects.nodePools.map((pool): NodePool => {
    const count = { ...(counts.get(nameOf(pool)) ?? { total: 0 }), disrupting: 0 };
    if (count.total === 0) return pool;
    const limits = consolidating.map((reason) => ({ reason, limit: limitOf(pool, reason, count, { now, policies }) }));
    const closed = limits.filter(({ limit }) => limit.allowed === 0);
    if (closed.length === 0) return pool;
    for (const { reason, limit } of closed) opens.set(disruptedKey(reason, nameOf(pool)), limit.changesAt);
    const budgets = limits.map(({ reason, limit: { allowed, changesAt } }) => {
      const later =
        allowed > 0 || changesAt === undefined
          ? allowed
          : limitOf(pool, reason, count, { now: changesAt, policies }).allowed;
      return { nodes: String(later), reasons: [reason] };
    });
    return { ...pool, spec: { ...pool.spec, disruption: { ...pool.spec.disruption, budgets } } };
  });
  const disruptionPolicies = policies.map((policy): typeof policy => ({
    ...policy,
    spec: { ...policy.spec, maintenanceWindows: undefined, rates: undefined },
  }));
  return { opened: { ...objects, nodePools, disruptionPolicies }, opens };
}

interface Planned {
  readonly plan: Plan;
  /** Names of the nodes that go. */
  readonly gone: ReadonlySet<string>;
  /** Why nodes stay whose pods have no other place (drift/every-pod-has-a-place), by node. */
  readonly kept: ReadonlyMap<string, string>;
  readonly noPlace: ReadonlyMap<string, string>;
}

/** The plan for pending pods and those of the nodes that go. Live, nodes go one after the other. */
function planWithout(input: PackingInput, moving: readonly NodeView[]): Planned {
  const kept = new Map<string, string>();
  const noPlace = new Map<string, string>();
  for (let n = 1; ; n++) {
    const gone = new Set(moving.map(nodeOf).filter((node) => !kept.has(node)));
    const found = plan({ ...input, withoutNodes: new Set([...(input.withoutNodes ?? []), ...gone]) });
    const unplaced = new Map(
      [...placesOf(found)].flatMap(([pod, place]) => {
        const why = whyNoPlace(place);
        return why === undefined ? [] : [[pod, why] as const];
      }),
    );
    const stuck = moving.flatMap((view) => {
      if (!gone.has(nodeOf(view))) return [];
      const own = view.pods
        .filter(isReschedulable)
        .map(fullName)
        .filter((name) => unplaced.has(name));
      for (const pod of own) noPlace.set(pod, unplaced.get(pod)!);
      const [first] = own;
      return first === undefined
        ? []
        : [[nodeOf(view), `pod ${first} would have no place: ${unplaced.get(first)!}`] as const];
    });
    if (stuck.length === 0) return { plan: found, gone, kept, noPlace: new Map([...unplaced, ...noPlace]) };
    // After many plans, the nodes that are left stay.
    const staying =
      n < mostPlans ? stuck : [...gone].map((node) => [node, 'the pods of other nodes take its place'] as const);
    for (const [node, why] of staying) kept.set(node, why);
  }
}

function disruptedOf(
  views: readonly NodeView[],
  {
    drifted,
    deleting,
    settled,
  }: { drifted: readonly NodeView[]; deleting: readonly NodeView[]; settled: Consolidation },
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const count = (reason: DisruptedReason, pool: string): void => {
    const key = disruptedKey(reason, pool);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const { claim } of drifted) count('Drifted', nodePoolOfClaim(claim));
  for (const { claim } of deleting) count('Deleted', nodePoolOfClaim(claim));
  const there = new Map(views.map((view) => [nodeOf(view), view]));
  for (const { candidates, method } of settled.commands)
    for (const name of candidates) {
      const view = there.get(name);
      if (view !== undefined) count(method === 'empty' ? 'Empty' : 'Underutilized', nodePoolOfClaim(view.claim));
    }
  return counts;
}

/** Number and price of the nodes of each NodePool after the commands. */
function fleetOf(
  input: PackingInput,
  { commands, priceAfter }: Consolidation,
): Pick<Outlook, 'pricePerHour' | 'pools'> {
  const { prices } = pricesIn(input);
  const fleet = new Map(
    (input.objects.nodes ?? []).flatMap((node) => {
      const own = node.metadata.labels ?? {};
      const pool = lookUp(own, labels.nodePool);
      return pool === undefined ? [] : [[nameOf(node), { pool, price: prices.of(own, nameOf(node)) ?? 0 }] as const];
    }),
  );
  for (const [n, { candidates, replacements }] of commands.entries()) {
    for (const name of candidates) fleet.delete(name);
    replacements.forEach(({ nodePool, cheapest }, i) =>
      fleet.set(`replacement-${n}-${i}`, { pool: nodePool, price: cheapest.pricePerHour }),
    );
  }
  const pools = new Map<string, { nodes: number; pricePerHour: number }>();
  for (const { pool, price } of fleet.values()) {
    const { nodes, pricePerHour } = pools.get(pool) ?? { nodes: 0, pricePerHour: 0 };
    pools.set(pool, { nodes: nodes + 1, pricePerHour: pricePerHour + price });
  }
  return { pricePerHour: priceAfter, pools };
}
