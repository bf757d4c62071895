import { activePauses } from '../../cluster/pauses.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { labels } from '../../api/labels.js';
import type { Allowance, PoolCount } from '../../disruption/budgets/budgets.js';
import type { CandidateContext, NodeView } from '../../disruption/candidates/candidates.js';
import { countPools, isDisrupting } from '../../disruption/budgets/pool-counts.js';
import {
  isStatic,
  replacementsIn,
  staticCounts,
  staticDriftRoom,
  whyNoDriftRoom,
} from '../../disruption/static-capacity/static-capacity.js';
import { limitOf, type LimitsContext } from '../../disruption/budgets/limits.js';
import { policyOf } from '../../disruption/policies/effective-policy.js';
import { type PoolRules, rulesOf } from '../../disruption/policies/pool-rules.js';
import type {
  CandidateRef,
  NodeMemory,
  OpenQuestion,
  Pause,
  Refused,
  RunningDisruption,
} from '../../workflows/messages.js';
import { withBufferPods } from '../provisioning/buffers.js';
import { isDeletingNode, managedPools, nodeNameOf, nodePrices, viewsWith } from '../../cluster/cluster.js';
import type { DisruptionView } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { disruptionRecords, type DisruptionRecords } from './disruption-records.js';
import { readable, withUnreadable } from './unreadable-objects.js';
import { nominatedNodes } from './nominations.js';
import { disruptionInput } from '../../cluster/packing-input.js';
import { waitsForRoom } from '../../cluster/awaited-nodes.js';
import { publishExcluded } from '../publish-excluded.js';
import type { ExcludedObject, Plan } from '../../packing/types.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isTrue } from '../../core/conditions.js';
import { isDeleting, nameOf } from '../../core/names.js';
import type { PastDisruption } from '../../disruption/budgets/limits/past-disruptions.js';

/** The cluster and the state of `disrupt`, as one search for disruptions reads them. */
export interface DisruptionContext extends CandidateContext, LimitsContext {
  readonly views: readonly NodeView[];
  /** Objects that cannot be read and are therefore left alone, and why (candidates/unreadable-nodes). */
  readonly excluded: readonly ExcludedObject[];
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly policies: readonly DisruptionPolicy[];
  readonly pastDisruptions: readonly PastDisruption[];
  /** The nodes that budgets count, by NodePool; claimed nodes count as disrupting (budgets/counted-nodes). */
  readonly counts: ReadonlyMap<string, PoolCount>;
  /** The pauses that are active now; empty for a decision about `judged` nodes. */
  readonly pauses: readonly Pause[];
  /** Running disruptions, as recorded on NodePools and as `disrupt` has started them. */
  readonly running: readonly RunningDisruption[];
  /** Commands that `disrupt` has started. */
  readonly commands: readonly RunningDisruption[];
  /** Ids of workflows whose nodes count against budgets. */
  readonly counting: ReadonlySet<string>;
  readonly memory: ReadonlyMap<string, NodeMemory>;
  /** Commands that wait for approval. */
  readonly questions: readonly OpenQuestion[];
  readonly refused: readonly Refused[];
  readonly allowances: Map<string, Allowance>;
  /** Names of the nodes that running disruptions take. */
  readonly disrupting: readonly string[];
  /**
   * Pods (`namespace/name`) that kube-scheduler leaves without a node though they have room: no node is kept for them.
   */
  readonly refusedPods: ReadonlySet<string>;
  /** When further pods count as refused, milliseconds of the epoch. */
  readonly checks: readonly number[];
  /** NodePools whose drifted nodes are replaced by a rollout; never static ones. */
  readonly rollouts: ReadonlySet<string>;
  /** How many drifted nodes may be replaced now, by static NodePool. */
  readonly driftRooms: ReadonlyMap<string, DriftRoom>;
  /** NodePools whose policy has mode Recommend. */
  readonly recommending: ReadonlySet<string>;
  /** NodePools with mode Act whose policy asks for approval of consolidation. */
  readonly asking: ReadonlySet<string>;
  /**
   * Which NodePools the search is about: those with mode Act, or those with mode Recommend. They are searched
   * separately, because a recommendation is not carried out and must not block another command. Consolidation searches
   * NodePools whose policy asks for approval separately too (mode `Ask`).
   */
  readonly mode: PoolRules['mode'] | 'Ask';
}

/**
 * `judged`: UIDs of NodeClaims that are being decided about, whose own disruption does not count. `isForBudgets`: only
 * budgets are evaluated, so that room for waiting pods is not computed. `live`: NodePools as read from the API server,
 * which replace those of the cache.
 */
export async function disruptionContext(
  deps: ActivityDeps,
  view: DisruptionView,
  {
    judged,
    isForBudgets = false,
    live = [],
  }: {
    readonly judged?: ReadonlySet<string>;
    readonly isForBudgets?: boolean;
    readonly live?: readonly NodePool[];
  } = {},
): Promise<DisruptionContext> {
  const { memory = [] } = view;
  // A caller with `judged` checks pauses itself, because it waits until they end.
  const pauses = judged === undefined ? await activePauses(deps) : [];
  const { prices, setAside } = await nodePrices(deps);
  publishExcluded(deps, 'The price of nodes', setAside);
  const all = await withBufferPods(deps, viewsWith(deps, prices));
  const known = managedPools(deps).map(
    (pool) => live.find(({ metadata }) => metadata.uid === pool.metadata.uid) ?? pool,
  );
  const records = disruptionRecords(deps, known, all);
  const running = runningIn(records, view.commands, judged);
  const claimed = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const policies = deps.cache.all('DisruptionPolicy');
  const by = worthSearchingBy(all, deps.now());
  const needsRooms = !isForBudgets && (judged !== undefined || all.some((each) => mayGo(each, by)));
  const rooms = needsRooms ? await roomsOfWaiting(deps, running) : [];
  const { nominated, refusedPods, checks } = nominatedNodes(deps, running, { views: all, judged, rooms });
  const podDisruptionBudgets = deps.cache.all('PodDisruptionBudget');
  const now = deps.now();
  const asked = { now, claimed, nominated, podDisruptionBudgets, policies, pastDisruptions: records.past };
  const { views, pools, excluded, unreadable } = readable({ views: all, pools: known }, asked);
  publishExcluded(deps, 'Disruption', excluded);
  return {
    ...asked,
    views,
    excluded,
    pools: new Map(pools.map((pool) => [nameOf(pool), pool])),
    policies,
    running,
    commands: view.commands,
    counting: new Set(records.running.map(({ workflowId }) => workflowId)),
    counts: withUnreadable(countPools(views, claimed, judged), unreadable),
    refusedPods,
    checks,
    pauses,
    allowances: new Map(),
    questions: records.questions.map((one) => ({ ...one, candidates: candidatesOf(one, view.commands) })),
    refused: records.refused,
    memory: new Map(memory.map((each) => [each.node, each])),
    disrupting: running.flatMap(({ candidates }) => candidates.map(({ node }) => node)),
    driftRooms: driftRooms(deps, { pools, views }, claimed),
    ...poolsByPolicy(pools, policies),
    mode: 'Act',
  };
}

/**
 * Nodes that become consolidatable within this time are included in the plan. Otherwise pods would be moved onto nodes
 * that are removed a moment later, and small commands would start before the one that saves most. Commands with such
 * nodes wait until the nodes are consolidatable, and are validated then.
 */
export const lookAheadMs = 30_000;

/**
 * By when a node has to be consolidatable for a search to be worthwhile. A plan that is made while nodes come up would
 * be outdated before the first node of it may go.
 */
export function worthSearchingBy(views: readonly NodeView[], now: number): number {
  const isComing = ({ claim }: NodeView): boolean =>
    !isDeleting(claim) && !isTrue(claim.status?.conditions, 'Initialized');
  return views.some(isComing) ? now : now + lookAheadMs;
}

/** Whether the node may be a candidate by that time. A node that cannot be read counts, and is left out later. */
function mayGo(view: NodeView, by: number): boolean {
  try {
    return isTrue(view.claim.status?.conditions, 'Drifted') || consolidatableAt(view) <= by;
  } catch {
    return true;
  }
}

/** For a command that `disrupt` has started, NodeClaims that are gone are known as well. */
const candidatesOf = (one: OpenQuestion, commands: DisruptionView['commands']): OpenQuestion['candidates'] =>
  commands.find(({ workflowId }) => workflowId === one.workflowId)?.candidates ?? one.candidates;

/** Recorded disruptions, and commands that `disrupt` has started, until their NodeClaims record that they wait. */
function runningIn(
  { running, waiting }: DisruptionRecords,
  commands: readonly RunningDisruption[],
  judged: ReadonlySet<string> = new Set(),
): readonly RunningDisruption[] {
  const known = new Set([...running.map(({ workflowId }) => workflowId), ...waiting]);
  return [...running, ...commands.filter(({ workflowId }) => !known.has(workflowId))].flatMap((one) => {
    const candidates = one.candidates.filter(({ claim }) => !judged.has(claim.uid));
    return candidates.length === 0 ? [] : [{ ...one, candidates }];
  });
}

/** Where pods that wait for a node have room now; packing is asked only if there are any. */
async function roomsOfWaiting(
  deps: ActivityDeps,
  running: readonly RunningDisruption[],
): Promise<Plan['existingNodes']> {
  const { cache } = deps;
  if (!cache.all('Pod').some((pod) => waitsForRoom(deps, pod)) && !cache.all('Node').some(isDeletingNode)) return [];
  const without = running.flatMap(({ candidates }) => candidates.map(({ node }) => node));
  return deps.packer.waitingRooms(await disruptionInput(deps, managedPools(deps), { without }));
}

/** NodePools that searches treat separately because of their policy. */
function poolsByPolicy(
  pools: readonly NodePool[],
  policies: readonly DisruptionPolicy[],
): Pick<DisruptionContext, 'rollouts' | 'recommending' | 'asking'> {
  const poolsThat = (holds: (pool: NodePool) => boolean): ReadonlySet<string> =>
    new Set(pools.filter(holds).map(nameOf));
  return {
    rollouts: poolsThat((pool) => !isStatic(pool) && policyOf(pool, policies)?.spec.driftRollout !== undefined),
    recommending: poolsThat((pool) => rulesOf(pool, policies).mode === 'Recommend'),
    asking: poolsThat((pool) => {
      const { mode, approval } = rulesOf(pool, policies);
      return mode === 'Act' && approval('Underutilized') !== undefined;
    }),
  };
}

/** Whether the search is about the nodes of this NodePool. */
export function isInScope({ mode, recommending }: DisruptionContext, nodePool: string): boolean {
  return recommending.has(nodePool) === (mode === 'Recommend');
}

/** The mode of the consolidation search that is about the NodePool (people/searched-separately). */
export function modeOf({ asking, recommending }: DisruptionContext, nodePool: string): DisruptionContext['mode'] {
  if (recommending.has(nodePool)) return 'Recommend';
  return asking.has(nodePool) ? 'Ask' : 'Act';
}

/**
 * UIDs of the NodeClaims that budgets count as disrupting. `judged`: those that are being decided about, whose own
 * taints do not count.
 */
export function disruptingUids({ views, claimed }: DisruptionContext, judged: ReadonlySet<string>): Set<string> {
  return uidsOf(views.filter((view) => isDisrupting(view, claimed, judged)));
}

const uidsOf = (views: readonly NodeView[]): Set<string> => new Set(views.map(({ claim }) => claim.metadata.uid ?? ''));

export function poolNameOf({ claim }: NodeView): string {
  return claim.metadata.labels?.[labels.nodePool] ?? '';
}

/** The names by which the scope of a pause can select a node. */
export function pausableOf(view: NodeView): Pick<CandidateRef, 'node' | 'nodePool'> {
  return { node: nodeNameOf(view), nodePool: poolNameOf(view) };
}

/** How many nodes of the NodePool may be disrupted for the reason now, and by which limit; computed once. */
export function allowedFor(context: DisruptionContext, nodePool: string, reason: DisruptionReason): Allowance {
  const key = `${reason} ${nodePool}`;
  let allowance = context.allowances.get(key);
  if (allowance === undefined) {
    const count = context.counts.get(nodePool) ?? { total: 0, disrupting: 0 };
    allowance = limitOf(context.pools.get(nodePool), reason, count, context);
    context.allowances.set(key, allowance);
  }
  return allowance;
}

/** The rules of each NodePool's DisruptionPolicy, computed once. */
export function rulesByPool(context: DisruptionContext): (nodePool: string) => PoolRules {
  const known = new Map<string, PoolRules>();
  return (nodePool) => {
    let rules = known.get(nodePool);
    if (rules === undefined) {
      rules = rulesOf(context.pools.get(nodePool), context.policies);
      known.set(nodePool, rules);
    }
    return rules;
  };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** How many drifted nodes of a static NodePool may be replaced now (static-capacity/drift-room). */
interface DriftRoom {
  readonly room: number;
  /** Why there is no room; undefined where there is. */
  readonly why: string | undefined;
}

/** The drift room of each static NodePool, by name. `claimed`: UIDs of NodeClaims that running disruptions take. */
function driftRooms(
  { cluster, gates }: Pick<ActivityDeps, 'cluster' | 'gates'>,
  { pools, views }: { readonly pools: readonly NodePool[]; readonly views: readonly NodeView[] },
  claimed: ReadonlySet<string>,
): ReadonlyMap<string, DriftRoom> {
  const roomOf = (pool: NodePool): DriftRoom => {
    if (!gates.StaticCapacity) return { room: 0, why: 'feature gate StaticCapacity is off' };
    const members = views.filter((view) => view.pool?.metadata.name === pool.metadata.name);
    const isReplaced = replacementsIn(
      cluster,
      members.map(({ claim }) => claim),
    );
    const counts = staticCounts(members, { deleting: new Set(), claimed, isReplaced });
    return { room: staticDriftRoom(pool, counts), why: whyNoDriftRoom(pool, counts) };
  };
  return new Map(pools.filter(isStatic).map((pool) => [nameOf(pool), roomOf(pool)]));
}
