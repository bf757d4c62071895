import { whyPaused } from '../../cluster/pauses.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import { disruptionInput } from '../../cluster/packing-input.js';
import { counted } from '../../core/text.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import type { Consolidation, ConsolidationInput, LeastSaving } from '../../disruption/consolidation/types.js';
import type { PackingInput } from '../../packing/types.js';
import type { PoolRules } from '../../disruption/policies/pool-rules.js';
import type { ActivityDeps } from '../deps.js';
import { allowedToPropose, whyAnswered } from '../disruption-context/open-questions.js';
import {
  type DisruptionContext,
  allowedFor,
  poolNameOf,
  rulesByPool,
  modeOf,
  pausableOf,
} from '../disruption-context/disruption-context.js';
import { memoryOf, whyNotMovedAgain } from '../disruption-context/node-memory.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';
import { ruledByText } from '../../disruption/budgets/budgets.js';

/** The most commands of one search that start together. */
const mostCommands = 10;

/**
 * The least saving of a command that launches more nodes than it removes, as a share of the average price of a node.
 */
const leastSplitShare = 0.2;
/** The same for commands with nodes that pods were moved to within a day. */
const leastAgainShare = 0.15;

/** The value of moving all pods once, as a share of the fleet's price. */
const disruptionWeight = 0.05;

/** The reason for nodes of NodePools that this search does not cover. */
export const otherMode = 'its NodePool is searched apart from this one';

/** The input of a search, and the limits that it is based on. */
interface SearchInput {
  readonly input: ConsolidationInput;
  /** How many nodes of each NodePool may be disrupted now. */
  readonly allowed: Limits;
  readonly held: { nodePool: string; why: string }[];
  readonly chains: { nodePool: string; why: string }[];
  /** Nodes of NodePools that allow no disruption now. */
  readonly closed: ReadonlySet<string>;
  /** Nodes of NodePools whose budget is used up by disruptions that are running. */
  readonly full: Consolidation['held'];
  /** When windows open of NodePools that allow no disruption now, milliseconds of the epoch. */
  readonly opens: readonly number[];
}

/**
 * The input of the search: nodes that are kept by people, policies or back-off, and limits and thresholds by NodePool.
 */
export async function searchInput(
  deps: ActivityDeps,
  context: DisruptionContext,
  consolidatableBy: number,
): Promise<SearchInput> {
  const rules = rulesByPool(context);
  const bounds = boundsOf(context, rules);
  const { kept, closed, full, chains } = keptNodes(context, consolidatableBy, bounds, rules);
  const { held, opens } = closedPools(context, bounds.allowances);
  const input = {
    ...(await contextInput(deps, context)),
    claimed: context.claimed,
    nominated: context.nominated,
    spotToSpot: deps.gates.SpotToSpotConsolidation,
    leastSplitShare,
    disruptionWeight,
    leastAgainShare,
    movedTo: new Set(context.views.filter((view) => (memoryOf(context, view)?.depth ?? 0) > 0).map(nodeNameOf)),
    consolidatableBy,
    mostCommands,
    kept,
    limits: bounds.limits,
    leastSavings: bounds.leastSavings,
  };
  const paused = [...chains].map(([nodePool, why]) => ({ nodePool, why }));
  return { input, allowed: bounds.allowances, held, chains: paused, closed, full, opens };
}

/**
 * The packing input for a search: without the nodes that are being disrupted, and without pods that kube-scheduler
 * refuses.
 */
export const contextInput = (
  deps: ActivityDeps,
  { pools, disrupting, refusedPods }: DisruptionContext,
): Promise<PackingInput> => disruptionInput(deps, [...pools.values()], { without: disrupting, refused: refusedPods });

/** The nodes that the search must not disrupt, and why. */
function keptNodes(
  context: DisruptionContext,
  consolidatableBy: number,
  { allowances, limits }: Bounds,
  rules: (nodePool: string) => PoolRules,
): {
  readonly kept: ReadonlyMap<string, string>;
  readonly closed: ReadonlySet<string>;
  readonly full: Consolidation['held'];
  /** Why NodePools are to be paused, by NodePool. */
  readonly chains: ReadonlyMap<string, string>;
} {
  const chains = new Map<string, string>();
  const kept = new Map<string, string>();
  const closed = new Set<string>();
  const full: { node: string; why: string }[] = [];
  for (const view of context.views) {
    const pool = poolNameOf(view);
    const own = whyKept(view, { context, consolidatableBy }, rules(pool), chains);
    const why = own ?? whyClosed(pool, allowances, context);
    if (why === undefined) continue;
    const isNext = own === undefined && !isClosed(limits.get(pool));
    if (isNext) full.push({ node: nodeNameOf(view), why });
    else kept.set(nodeNameOf(view), why);
    if (own === undefined) closed.add(nodeNameOf(view));
  }
  return { kept, closed, full, chains };
}

/** The NodePools that allow no disruption now, why, and when their windows open. */
function closedPools(
  context: DisruptionContext,
  allowances: Bounds['allowances'],
): Pick<SearchInput, 'held' | 'opens'> {
  const held: { nodePool: string; why: string }[] = [];
  const opens: number[] = [];
  for (const [nodePool, { Underutilized }] of allowances) {
    if (Underutilized > 0 || modeOf(context, nodePool) !== context.mode) continue;
    opens.push(allowedFor(context, nodePool, 'Underutilized').changesAt ?? Number.POSITIVE_INFINITY);
    const why = whyClosed(nodePool, allowances, context);
    if (why !== undefined) held.push({ nodePool, why });
  }
  return { held, opens };
}

interface Bounds {
  readonly allowances: ReadonlyMap<string, Allowance>;
  /**
   * The bounds after running disruptions have ended: the next commands are searched meanwhile, and are validated when
   * they may start.
   */
  readonly limits: ReadonlyMap<string, Allowance>;
  readonly leastSavings: NonNullable<ConsolidationInput['leastSavings']>;
}

/** The bounds of the search in each NodePool. */
function boundsOf(context: DisruptionContext, rules: (nodePool: string) => PoolRules): Bounds {
  const allowances = new Map<string, Allowance>();
  const limits = new Map<string, Allowance>();
  for (const name of context.pools.keys()) {
    const allowed = (reason: DisruptionReason): number => allowedToPropose(context, name, reason).allowed;
    const allowance = { Empty: allowed('Empty'), Underutilized: allowed('Underutilized') };
    allowances.set(name, allowance);
    limits.set(name, isClosed(allowance) ? turnsOf(context, name) : allowance);
  }
  return { allowances, limits, leastSavings: leastSavingsOf(context, rules) };
}

/** The least savings that policies ask for, by NodePool. */
export function leastSavingsOf(
  { pools }: Pick<DisruptionContext, 'pools'>,
  rules: (nodePool: string) => PoolRules,
): Bounds['leastSavings'] {
  const least = new Map<string, LeastSaving>();
  for (const name of pools.keys()) {
    const { leastShare: share, leastDollarsPerHour: dollarsPerHour } = rules(name);
    if (share > 0 || dollarsPerHour > 0) least.set(name, { share, dollarsPerHour });
  }
  return least;
}

type Limits = NonNullable<ConsolidationInput['limits']>;

/** How many nodes of a NodePool may be disrupted, by reason. */
interface Allowance {
  readonly Empty: number;
  readonly Underutilized: number;
}

const isClosed = (limit: Allowance | undefined): boolean =>
  limit !== undefined && limit.Underutilized === 0 && limit.Empty === 0;

/** How many nodes the NodePool allows at a time, after the running disruptions have ended. */
function turnsOf(context: DisruptionContext, nodePool: string): Allowance {
  const { total, disrupting } = context.counts.get(nodePool) ?? { total: 0, disrupting: 0 };
  const count = { total: total - disrupting, disrupting: 0 };
  const of = (reason: DisruptionReason): number =>
    disrupting === 0 ? 0 : limitOf(context.pools.get(nodePool), reason, count, context).allowed;
  return { Empty: of('Empty'), Underutilized: of('Underutilized') };
}

function whyKept(
  view: NodeView,
  { context, consolidatableBy }: { context: DisruptionContext; consolidatableBy: number },
  rules: PoolRules,
  chains: Map<string, string>,
): string | undefined {
  if (modeOf(context, poolNameOf(view)) !== context.mode) return otherMode;
  const why =
    whyPaused(context.pauses, 'Underutilized', pausableOf(view)) ??
    whyNotMovedAgain(context, view, rules) ??
    whyAnswered(context, view, 'Underutilized');
  if (why !== undefined) return why;
  const depth = memoryOf(context, view)?.depth ?? 0;
  if (depth < rules.maxMoveChain || !isConsolidatable(view, context, consolidatableBy)) return undefined;
  const chain = `pods of ${nodeNameOf(view)} were moved ${counted(depth, 'time')} in a row within a day, and maxMoveChain is ${rules.maxMoveChain}`;
  if (isConsolidatable(view, context)) chains.set(poolNameOf(view), chain);
  return chain;
}

function whyClosed(
  pool: string,
  allowances: ReadonlyMap<string, Allowance>,
  context: DisruptionContext,
): string | undefined {
  if (!isClosed(allowances.get(pool))) return undefined;
  return `${ruledByText(allowedToPropose(context, pool, 'Underutilized'))} allows no more`;
}

/** Whether the node is consolidatable (consolidation/consolidate-after). */
export function isConsolidatable(view: NodeView, context: DisruptionContext, by = context.now): boolean {
  if (modeOf(context, poolNameOf(view)) !== context.mode) return false;
  return consolidatableAt(view) <= by && !context.claimed.has(view.claim.metadata.uid ?? '');
}
