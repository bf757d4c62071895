import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy, DisruptionReason } from '../../api/stowage/disruption-policy.js';
import { labels } from '../../api/labels.js';
import { pauseScopeText, pauseStops } from '../../core/pause-scope.js';
import type { Allowance, PoolCount } from '../../disruption/budgets/budgets.js';
import type { CandidateContext, NodeView } from '../../disruption/candidates/candidates.js';
import { countPools } from '../../disruption/budgets/pool-counts.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import type { LimitsContext } from '../../disruption/budgets/limits.js';
import { policyOf } from '../../disruption/policies/policies.js';
import { rulesOf } from '../../disruption/policies/pool-rules.js';
import type { PoolRules } from '../../disruption/policies/pool-rules.js';
import type { NodeMemory, OpenQuestion, Pause, Refused } from '../../workflows/messages.js';
import { withBufferPods } from '../provisioning/buffers.js';
import { managedPools, nodeNameOf, nodePrices, viewsWith } from '../../cluster/cluster.js';
import type { DisruptionRecords, DisruptionView } from '../disruption/contract.js';
import type { ActivityDeps } from '../deps.js';
import { recordsOf } from './disruption-records.js';
import { readable, withAside } from './left-alone.js';
import { nominatedNodes } from './nominations.js';
import { reportLeftOut } from '../report-left-out.js';
import type { SetAside } from '../../packing/types.js';
import { timeText } from '../../core/time-text.js';

/** The cluster as one look at it, with what `disrupt` knows besides. */
export interface DisruptionContext extends CandidateContext, LimitsContext {
  readonly views: readonly NodeView[];
  /** Nodes that cannot be decided about, by name, and why (candidates/unreadable-nodes). */
  readonly aside: readonly SetAside[];
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly policies: readonly DisruptionPolicy[];
  readonly pastDisruptions: NonNullable<DisruptionView['pastDisruptions']>;
  /** What budgets are counted against; claimed nodes count as disrupting (budgets/counted-nodes). */
  readonly counts: ReadonlyMap<string, PoolCount>;
  readonly pauses: readonly Pause[];
  readonly memory: ReadonlyMap<string, NodeMemory>;
  /** Commands that wait for consent and are not under way. */
  readonly questions: readonly OpenQuestion[];
  readonly refused: readonly Refused[];
  /** What NodePools kept for a `disrupt` that has just started. */
  readonly recorded: DisruptionRecords | undefined;
  readonly allowances: Map<string, Allowance>;
  /** Names of the nodes that running disruptions take. */
  readonly going: readonly string[];
  /** When nodes cease to be nominated, milliseconds of the epoch; nodes of which that is not known are not there. */
  readonly nominationEnds: ReadonlyMap<string, number>;
  /** NodePools whose drift goes in waves of a rollout of its own. */
  readonly rollouts: ReadonlySet<string>;
  /** NodePools whose policy has mode Recommend. */
  readonly recommending: ReadonlySet<string>;
  /** NodePools that act, and whose policy asks for approval of consolidation. */
  readonly asking: ReadonlySet<string>;
  /**
   * Whose nodes a look may take: those of pools that act, or of those that only recommend. Never both: what is not carried out holds up
   * nothing. Consolidation looks at pools whose policy asks a person by themselves as well (mode `Ask`).
   */
  readonly mode: PoolRules['mode'] | 'Ask';
}

/** `judged`: UIDs of claims that are being decided about, whose own taints count for nothing. */
export async function disruptionContext(
  deps: ActivityDeps,
  view: DisruptionView,
  judged?: ReadonlySet<string>,
): Promise<DisruptionContext> {
  const { pauses, running, memory = [], questions = [] } = view;
  const { prices, setAside } = await nodePrices(deps);
  reportLeftOut(deps, 'The price of nodes', setAside);
  const all = await withBufferPods(deps, viewsWith(deps, prices));
  const claimed = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const policies = deps.cache.all('DisruptionPolicy');
  const recorded = view.isNew === true ? recordsOf(deps, managedPools(deps)) : undefined;
  const { names: nominated, ends: nominationEnds } = nominatedNodes(deps, view, all);
  const podDisruptionBudgets = deps.cache.all('PodDisruptionBudget');
  const pastDisruptions = [...(recorded?.pastDisruptions ?? []), ...(view.pastDisruptions ?? [])];
  const now = deps.now();
  const asked = { now, claimed, nominated, podDisruptionBudgets, policies, pastDisruptions };
  const { views, pools, aside, without } = readable({ views: all, pools: managedPools(deps) }, asked);
  reportLeftOut(deps, 'Disruption', aside);
  const poolsThat = (holds: (pool: NodePool) => boolean): ReadonlySet<string> =>
    new Set(pools.filter(holds).map(({ metadata }) => metadata.name ?? ''));
  return {
    ...asked,
    views,
    aside,
    pools: new Map(pools.map((pool) => [pool.metadata.name ?? '', pool])),
    policies,
    recorded,
    counts: withAside(countPools(views, claimed, judged), without),
    nominationEnds,
    pauses,
    allowances: new Map(),
    questions: questions.filter(({ isGranted }) => isGranted !== true),
    refused: [...(recorded?.refused ?? []), ...(view.refused ?? [])],
    memory: new Map(memory.map((each) => [each.node, each])),
    going: running.flatMap(({ candidates }) => candidates.map(({ node }) => node)),
    rollouts: poolsThat((pool) => policyOf(pool, policies)?.spec.driftRollout !== undefined),
    recommending: poolsThat((pool) => rulesOf(pool, policies).mode === 'Recommend'),
    asking: poolsThat((pool) => {
      const { mode, approval } = rulesOf(pool, policies);
      return mode === 'Act' && approval('Underutilized') !== undefined;
    }),
    mode: 'Act',
  };
}

/** Whether the look is about the nodes of this pool. */
export function isLookedAt({ mode, recommending }: DisruptionContext, nodePool: string): boolean {
  return recommending.has(nodePool) === (mode === 'Recommend');
}

/** Which search for consolidation is about the pool (people/asked-apart). */
export function searchOf({ asking, recommending }: DisruptionContext, nodePool: string): DisruptionContext['mode'] {
  if (recommending.has(nodePool)) return 'Recommend';
  return asking.has(nodePool) ? 'Ask' : 'Act';
}

export function poolNameOf({ claim }: NodeView): string {
  return claim.metadata.labels?.[labels.nodePool] ?? '';
}

/** Everything that bounds the disruption of a pool for a reason now. */
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

/** What the DisruptionPolicy of each pool asks, worked out once. */
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

/** What of a node a pause may name. */
export interface Pausable {
  readonly node: string;
  readonly nodePool: string;
}

export function pausableOf(view: NodeView): Pausable {
  return { node: nodeNameOf(view), nodePool: poolNameOf(view) };
}

/** The pause that stops a disruption of the node for this reason, in words; undefined if there is none. */
export function whyPaused(pauses: readonly Pause[], reason: string, node: Pausable): string | undefined {
  const pause = pauses.find(({ scope }) => pauseStops(scope, reason, node));
  if (pause === undefined) return undefined;
  const { scope, actor, reason: why, until } = pause;
  const end = until === undefined ? '' : ` until ${timeText(until)}`;
  return `${pauseScopeText(scope)} is paused by ${actor}${end}: ${why}`;
}

/** A node that a move launched is remembered by its claim's name: the node had none yet. */
export function memoryOf({ memory }: DisruptionContext, view: NodeView): NodeMemory | undefined {
  return memory.get(nodeNameOf(view)) ?? memory.get(view.claim.metadata.name ?? '');
}

/** Why what happened to a node lately keeps it from being moved again (cool-down, decisions that came to nothing). */
export function whyRested(context: DisruptionContext, view: NodeView, rules: PoolRules): string | undefined {
  const memory = memoryOf(context, view);
  if (memory === undefined) return undefined;
  const refused = whyRests(context, view, 'Underutilized');
  if (refused !== undefined) return refused;
  if (memory.depth === undefined || memory.at + rules.coolDownMs <= context.now) return undefined;
  return `pods were moved to it a while ago, and coolDown holds until ${timeText(memory.at + rules.coolDownMs)}`;
}

/** Why the last decision about a node is not taken over again yet: one for the same reason came to nothing. */
export function whyRests(
  context: DisruptionContext,
  view: NodeView,
  reason: NonNullable<NodeMemory['reason']>,
): string | undefined {
  const memory = memoryOf(context, view);
  if (memory?.keptUntil === undefined || memory.keptUntil <= context.now) return undefined;
  const { why = 'the last decision about it came to nothing', keptUntil } = memory;
  if (memory.reason !== undefined && memory.reason !== reason) return undefined;
  return `${why}; it rests until ${timeText(keptUntil)}`;
}

/** When nodes that rest may be looked at again, milliseconds of the epoch. */
export function restEnds(context: DisruptionContext, rules: (nodePool: string) => PoolRules): readonly number[] {
  return context.views.flatMap((view) => {
    const memory = memoryOf(context, view);
    if (memory === undefined) return [];
    const cooled = memory.depth === undefined ? 0 : memory.at + rules(poolNameOf(view)).coolDownMs;
    return [memory.keptUntil ?? 0, cooled].filter((at) => at > context.now);
  });
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
