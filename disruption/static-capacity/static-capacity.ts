import type { NodePool } from '../../api/karpenter/node-pool.js';
import { compareText, counted, verb } from '../../core/text.js';
import { isTrue } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import { parseResources } from '../../core/quantities.js';
import { evictionCost, type NodeView } from '../candidates/candidates.js';
import { isMirror, isOwnedBy, isTerminal } from '../../core/pods.js';
import { isNodeMarkedDoNotDisrupt, podMarkedDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { isDeleting, nameOf } from '../../core/names.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';

/** The claims of a static pool by their future (static-capacity/keeps-replicas). */
export interface StaticCounts {
  /** Claims that stay, whether their nodes are ready or not. */
  readonly running: readonly NodeView[];
  /** Claims that a disruption will remove once their replacement is ready, and whose replacement does not exist yet. */
  readonly unreplaced: readonly NodeView[];
  /** Claims that a disruption will remove and whose replacement exists; the replacement counts as running. */
  readonly replaced: readonly NodeView[];
  readonly deleting: readonly NodeView[];
  /** Number of all of them, which `limits.nodes` limits. */
  readonly total: number;
}

export interface StaticContext {
  /** UIDs of claims that are being removed, although their objects do not show it yet. */
  readonly deleting: ReadonlySet<string>;
  /** UIDs of claims that a running disruption is about to replace. */
  readonly claimed: ReadonlySet<string>;
  /** Whether the replacement of a claim exists. */
  readonly isReplaced: (uid: string) => boolean;
}

/** Changes of a static pool: the number of nodes to create, or the claims to remove, in order of removal. */
export interface StaticPlan {
  readonly create: number;
  readonly remove: readonly NodeView[];
  /** Number of missing nodes for which `limits.nodes` has no room now. */
  readonly heldByLimit: number;
}

export function isStatic(pool: Pick<NodePool, 'spec'> | undefined): boolean {
  return pool?.spec.replicas !== undefined;
}

/**
 * Maximum number of nodes of a static pool, with fractions rounded up as in Karpenter; infinity without `limits.nodes`.
 */
export function nodeLimit({ spec }: Pick<NodePool, 'spec'>): number {
  return Math.ceil(parseResources(spec.limits).nodes ?? Number.POSITIVE_INFINITY);
}

export function staticCounts(members: readonly NodeView[], context: StaticContext): StaticCounts {
  const running: NodeView[] = [];
  const unreplaced: NodeView[] = [];
  const replaced: NodeView[] = [];
  const deleting: NodeView[] = [];
  for (const view of members) {
    const uid = view.claim.metadata.uid ?? '';
    const isGoing = context.claimed.has(uid) || isTrue(view.claim.status?.conditions, 'DisruptionReason');
    if (isDeleting(view.claim) || context.deleting.has(uid)) deleting.push(view);
    else if (!isGoing) running.push(view);
    else if (context.isReplaced(uid)) replaced.push(view);
    else unreplaced.push(view);
  }
  return { running, unreplaced, replaced, deleting, total: members.length };
}

/**
 * Rules `static-capacity/keeps-replicas`, `static-capacity/node-limit`. What is missing is created as far as `limits.nodes` has room, with room kept for replacements that are still
 * to come; what is too many goes at once, without budgets. Nodes that a disruption is replacing count once, they or
 * their replacement.
 */
export function staticPlan(pool: Pick<NodePool, 'spec'>, counts: StaticCounts, now: number): StaticPlan {
  const replicas = pool.spec.replicas ?? 0;
  const { running } = counts;
  const missing = missingOf(replicas, counts);
  const create = Math.max(0, Math.min(missing, roomOf(pool, counts)));
  const excess = Math.max(0, running.length - replicas);
  return {
    create,
    remove: excess === 0 ? [] : inOrderOfScaleDown(running, now).slice(0, excess),
    heldByLimit: missing - create,
  };
}

/**
 * How many drifted nodes of a static pool may be replaced now (static-capacity/drift-room): none while it has too many,
 * and at most as many as `limits.nodes` allows in addition to the replicas.
 */
export function staticDriftRoom(pool: Pick<NodePool, 'spec'>, counts: StaticCounts): number {
  const replicas = pool.spec.replicas ?? 0;
  if (counts.running.length + counts.unreplaced.length > replicas) return 0;
  return Math.max(0, roomOf(pool, counts) - missingOf(replicas, counts));
}

/** Why `staticDriftRoom` is zero, in words; undefined if it is not. */
export function whyNoDriftRoom(pool: Pick<NodePool, 'spec'>, counts: StaticCounts): string | undefined {
  if (staticDriftRoom(pool, counts) > 0) return undefined;
  const replicas = pool.spec.replicas ?? 0;
  const { running, unreplaced, total } = counts;
  const kept = running.length + unreplaced.length;
  if (kept > replicas)
    return `its NodePool has ${counted(kept, 'node')} and replicas of ${replicas}: the surplus goes first`;
  const limit = nodeLimit(pool);
  if (limit <= replicas) return `replicas of ${replicas} and limits.nodes of ${limit} leave no room for a replacement`;
  const toCome = unreplaced.length + missingOf(replicas, counts);
  const more = toCome === 0 ? '' : `, and ${toCome} more ${verb(toCome, 'is', 'are')} to come`;
  const there = `${counted(total, 'node')} ${verb(total, 'is', 'are')} there${more}`;
  return `limits.nodes of ${limit} leaves no room for a replacement now: ${there}`;
}

const missingOf = (replicas: number, { running, unreplaced }: StaticCounts): number =>
  Math.max(0, replicas - running.length - unreplaced.length);

const roomOf = (pool: Pick<NodePool, 'spec'>, { total, unreplaced }: StaticCounts): number =>
  nodeLimit(pool) - total - unreplaced.length;

interface Ranked {
  readonly view: NodeView;
  readonly rank: readonly number[];
  readonly name: string;
}

/**
 * Rule `static-capacity/scale-down-order`: claims without an instance, then nodes with nothing but DaemonSet pods, then the others by the older cost
 * (disruption-cost/over-lifetime); what is marked do-not-disrupt last. Among equals those that are not up or have drifted go first.
 */
function inOrderOfScaleDown(views: readonly NodeView[], now: number): NodeView[] {
  return views
    .map((view): Ranked => ({ view, rank: rankOf(view, now), name: nameOf(view.claim) }))
    .sort((a, b) => {
      const at = a.rank.findIndex((value, i) => value !== b.rank[i]);
      if (at >= 0) return a.rank[at]! - b.rank[at]!;
      return compareText(a.name, b.name);
    })
    .map(({ view }) => view);
}

function rankOf(view: NodeView, now: number): number[] {
  const { claim } = view;
  const { conditions, providerID = '' } = claim.status ?? {};
  const isKept = isProtected(view, now);
  const tier = providerID === '' ? 0 : isKept ? 3 : isBare(view) ? 1 : 2;
  return [
    tier,
    tier < 2 ? 0 : lifetimeCost(view, now),
    isTrue(conditions, 'Initialized') ? 1 : 0,
    isTrue(conditions, 'Drifted') ? 0 : 1,
  ];
}

/** Whether only pods that run on every node run on it. */
function isBare({ pods }: NodeView): boolean {
  return pods.every((pod) => isTerminal(pod) || isMirror(pod) || isOwnedBy(pod, 'DaemonSet.apps'));
}

function isProtected({ node, pods }: NodeView, now: number): boolean {
  return isNodeMarkedDoNotDisrupt(node) || podMarkedDoNotDisrupt(pods, now) !== undefined;
}

/**
 * The former cost (disruption-cost/over-lifetime): the cost of all pods, times the remaining share of the node's life.
 */
function lifetimeCost({ claim, pods }: NodeView, now: number): number {
  const life = parseNillableDuration(claim.spec.expireAfter, 'expireAfter');
  const age = now - Date.parse(claim.metadata.creationTimestamp ?? '');
  const left = Number.isFinite(life) && life > 0 && Number.isFinite(age) ? (life - age) / life : 1;
  const cost = pods.reduce((sum, pod) => sum + evictionCost(pod), 0);
  return cost * Math.min(1, Math.max(0, left));
}

/** Returns whether the replacement of a claim of a static pool exists: its plan names the disruption of the claim. */
export function replacementsIn(cluster: string, claims: readonly NodeClaim[]): (uid: string) => boolean {
  const plans = new Set(
    claims.flatMap(({ metadata }) => {
      const plan = metadata.annotations?.[annotations.plan];
      // workflow id / run id / index
      return plan === undefined ? [] : [plan.split('/').slice(0, -2).join('/')];
    }),
  );
  return (uid) => plans.has(workflowIds.consolidate(cluster, [uid])) || plans.has(workflowIds.expire(cluster, uid));
}
