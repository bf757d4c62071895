import type { DisruptionReason } from '../../api/stowage/disruption-policy.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type {
  Consolidation,
  ConsolidationCommand,
  ConsolidationInput,
  LeastSaving,
} from '../../disruption/consolidation/types.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import type { PoolRules } from '../../disruption/policies/pool-rules.js';
import { candidateOf, cataloguesOf, nodeNameOf } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';
import { reportLeftOut } from '../report-left-out.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { allowedFor, poolNameOf, rulesByPool, searchOf } from '../disruption-context/disruption-context.js';
import { memoryOf, whyNotMovedAgain } from '../disruption-context/node-memory.js';
import { pausableOf, whyPaused } from '../disruption-context/paused.js';
import { counted } from '../../core/plurals.js';
import { stampOf, withoutCatalogue } from '../disruption-context/look-stamp.js';
import { allowedToPropose, whyAnswered } from '../disruption-context/asked.js';
import { betterThanAnswered, withAnswered } from './better-proposals.js';
import { waitsForEmptyNodes } from './waits-for-empty-nodes.js';
import { sideBySide } from './side-by-side.js';
import { waitsOfCommands } from './waiting-commands.js';
import { packingInput } from '../../cluster/packing-input.js';
import { StableSince } from '../disruption-context/stable-since.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { listedNames } from '../../core/listed-names.js';

/** How often the cluster is searched again without any change (consolidation/when-it-looks). */
const lookEveryMs = 5 * 60_000;
/** The interval if the instance types of a NodePool could not be read. */
const missingTypesMs = 15_000;
/** Pause after a search, as a multiple of its duration without its time in the queue. */
const restFactor = 4;
/**
 * Nodes that become consolidatable within this time are included in the plan. Otherwise pods would be moved onto nodes that are
 * removed a moment later, and small commands would start before the one that saves most. Commands with such nodes wait until the
 * nodes are consolidatable, and are validated then.
 */
const lookAheadMs = 30_000;
/** The longest that consolidatable nodes wait for others. */
const patienceMs = 30_000;
/** The most commands of one search that start together. */
const mostCommands = 10;

/** The least saving of a command that launches more nodes than it removes, as a share of the average price of a node. */
const leastSplitShare = 0.2;
/** The same for commands with nodes that pods were moved to within a day. */
const leastAgainShare = 0.15;

/** The value of moving all pods once, as a share of the fleet's price. */
const disruptionWeight = 0.05;

/** The reason for nodes of NodePools that this search does not cover. */
const otherMode = 'its NodePool is searched apart from this one';

/** The state and result of the last search. Kept in the process only, since searching again does no harm. */
export interface LastSearch {
  stamp: string;
  at: number;
  /** No search before this time, milliseconds of the epoch, because the last one took long. */
  restUntil: number;
  stays: Consolidation['held'];
  /** What nodes wait for whose command was found and not started. */
  waits: readonly NodeWait[];
  /** Since when consolidatable nodes have waited for others to become consolidatable, while no command started. */
  waitingSince: number | undefined;
  readonly stableSince: StableSince;
}

export function noSearch(): LastSearch {
  return {
    stamp: '',
    at: 0,
    restUntil: 0,
    stays: [],
    waits: [],
    waitingSince: undefined,
    stableSince: new StableSince(),
  };
}

/**
 * Finds commands that save money and can run at the same time (consolidation/when-it-looks, consolidation/several-nodes).
 * Searches only if something changed since the last search without a result, or after five minutes. A search that budgets cut
 * short does not count as without result.
 */
export async function findConsolidation(
  deps: ActivityDeps,
  context: DisruptionContext,
  { last, seen }: { last: LastSearch; seen: number },
): Promise<Proposals> {
  const catalogues = await cataloguesOf(deps, [...context.pools.values()]);
  const missing = withoutCatalogue(context, catalogues);
  const checks = [...waking(context), ...missing.map(() => context.now + missingTypesMs)];
  const soon = context.now + lookAheadMs;
  if (!context.views.some((view) => isConsolidatable(view, context, soon))) {
    last.waits = [];
    return { proposals: [], held: [], checks };
  }
  const consolidatable = [context.now, soon].map(
    (by) => context.views.filter((view) => isConsolidatable(view, context, by)).length,
  );
  const stamp = stampOf(context, { seen, consolidatable, catalogues });
  const due = Math.max(last.stamp === stamp ? last.at + lookEveryMs : 0, last.restUntil);
  if (context.now < due) return { proposals: [], held: [], checks: [...checks, due] };
  // In a busy cluster some node is always about to become consolidatable: the others do not wait for ever.
  const isPatient = last.waitingSince === undefined || context.now < last.waitingSince + patienceMs;
  const { input, allowed, held, chains, limited, closed, full, opens } = await searchInput(
    deps,
    context,
    isPatient ? soon : context.now,
  );
  let began = deps.now();
  const { first, result, proposed, moot } = await search(deps, input, context, () => (began = deps.now()));
  reportLeftOut(deps, 'Consolidation', result.setAside);
  const tookMs = deps.now() - began;
  last.at = context.now;
  last.restUntil = context.now + tookMs * restFactor;
  last.stays = [...first.held, ...first.notTaken, ...full].filter(({ why }) => why !== otherMode);
  const found = proposed.filter((command) => !waitsForEmptyNodes(command, context));
  const named = new Set(found.flatMap(({ candidates }) => candidates));
  last.stableSince.note(context.views, { named, unasked: closed, now: context.now });
  const notYet = notYetOf(context);
  const beside = sideBySide(found, { limits: allowed }, { views: context.views, notYet });
  const { commands, blocked, waiting } = beside;
  last.waits = waitsOfCommands(proposed, beside, context);
  // Without consolidatable nodes nothing is waiting.
  const isHeldUp = waiting && commands.length === 0 && [...named].some((node) => !notYet.has(node));
  last.waitingSince = isHeldUp ? (last.waitingSince ?? context.now) : undefined;
  // Budgets that blocked a command may allow it the next time.
  const isLastWord = !limited && !blocked && !waiting && result.cutShort !== true;
  last.stamp = commands.length === 0 && isLastWord ? stamp : '';
  deps.metrics.observe(
    'voluntary_disruption_decision_evaluation_duration_seconds',
    { reason: 'underutilized', consolidation_type: 'multi' },
    tookMs / 1000,
  );
  return {
    proposals: commands.map((command) => ({
      ...proposalOf(command, result, context),
      steers: deps.steerPods,
      validationMs: last.stableSince.restOf(command.candidates, context.now),
    })),
    held: [...missing.map((nodePool) => ({ nodePool, why: 'its instance types cannot be had just now' })), ...held],
    checks: [...checks, ...patienceOf(last), ...opens, context.now + lookEveryMs],
    chains,
    moot,
  };
}

/** Why there is no command for exactly this node, by the search; undefined if there is one. */
export async function whyNotTaken(
  deps: ActivityDeps,
  context: DisruptionContext,
  node: string,
): Promise<string | undefined> {
  const view = context.views.find((each) => nodeNameOf(each) === node);
  const mode = view === undefined ? context.mode : searchOf(context, poolNameOf(view));
  const { input } = await searchInput(deps, { ...context, mode }, context.now);
  return deps.packer.whyStays(input, node);
}

/** Searches nodes with open questions or refusals only if there is nothing else to do. */
async function search(
  deps: ActivityDeps,
  input: ConsolidationInput,
  context: DisruptionContext,
  onBegin: () => void,
): Promise<{
  readonly first: Consolidation;
  /** The search result that the commands are taken from. */
  readonly result: Consolidation;
  readonly proposed: readonly ConsolidationCommand[];
  readonly moot: NonNullable<Proposals['moot']>;
}> {
  const first = await deps.packer.consolidate(input, { onBegin });
  const again = first.commands.length > 0 ? undefined : withAnswered(input, context);
  if (again === undefined) return { first, result: first, proposed: first.commands, moot: [] };
  const result = await deps.packer.consolidate(again);
  const { commands, moot } = betterThanAnswered(result.commands, context);
  return { first, result, proposed: commands, moot };
}

/** When consolidatable nodes stop waiting for others. */
function patienceOf({ waitingSince }: LastSearch): readonly number[] {
  return waitingSince === undefined ? [] : [waitingSince + patienceMs];
}

/** Whether the node is consolidatable (consolidation/consolidate-after). */
function isConsolidatable(view: NodeView, context: DisruptionContext, by = context.now): boolean {
  if (searchOf(context, poolNameOf(view)) !== context.mode) return false;
  return consolidatableAt(view) <= by && !context.claimed.has(view.claim.metadata.uid ?? '');
}

function notYetOf({ views, now }: DisruptionContext): ReadonlySet<string> {
  return new Set(views.filter((view) => !(consolidatableAt(view) <= now)).map(nodeNameOf));
}

/** When nodes become consolidatable, and when they are included in plans. */
function waking({ views, now }: DisruptionContext): number[] {
  const times = views.map(consolidatableAt).flatMap((at) => [at - lookAheadMs, at]);
  const later = times.filter((at) => at > now && Number.isFinite(at));
  return later.length === 0 ? [] : [later.reduce((a, b) => Math.min(a, b))];
}

/** The input of the search: nodes that are kept by people, policies or back-off, and limits and thresholds by NodePool. */
async function searchInput(
  deps: ActivityDeps,
  context: DisruptionContext,
  consolidatableBy: number,
): Promise<{
  readonly input: ConsolidationInput;
  /** How many nodes of each NodePool may be disrupted now. */
  readonly allowed: Limits;
  readonly held: { nodePool: string; why: string }[];
  readonly chains: { nodePool: string; why: string }[];
  readonly limited: boolean;
  /** Nodes of NodePools that allow no disruption now. */
  readonly closed: ReadonlySet<string>;
  /** Nodes of NodePools whose budget is used up by disruptions that are running. */
  readonly full: Consolidation['held'];
  /** When windows open of NodePools that allow no disruption now, milliseconds of the epoch. */
  readonly opens: readonly number[];
}> {
  const rules = rulesByPool(context);
  const held: { nodePool: string; why: string }[] = [];
  const chains = new Map<string, string>();
  const { allowances, limits, leastSavings } = boundsOf(context, rules);
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
  const opens: number[] = [];
  for (const [nodePool, { Underutilized }] of allowances) {
    if (Underutilized > 0 || searchOf(context, nodePool) !== context.mode) continue;
    opens.push(allowedFor(context, nodePool, 'Underutilized').changesAt ?? Number.POSITIVE_INFINITY);
    const why = whyClosed(nodePool, allowances, context);
    if (why !== undefined) held.push({ nodePool, why });
  }
  const input = {
    ...(await packingInput(deps, [...context.pools.values()], context.going)),
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
    limits,
    leastSavings,
  };
  const limited = [...allowances.values()].some(({ Underutilized }) => Underutilized === 0);
  const paused = [...chains].map(([nodePool, why]) => ({ nodePool, why }));
  return { input, allowed: allowances, held, chains: paused, limited, closed, full, opens };
}

/** The bounds of the search in each NodePool. */
function boundsOf(
  context: DisruptionContext,
  rules: (nodePool: string) => PoolRules,
): {
  readonly allowances: ReadonlyMap<string, Allowance>;
  /**
   * The bounds after running disruptions have ended: the next commands are searched meanwhile, and are validated when they may
   * start.
   */
  readonly limits: ReadonlyMap<string, Allowance>;
  readonly leastSavings: NonNullable<ConsolidationInput['leastSavings']>;
} {
  const allowances = new Map<string, Allowance>();
  const limits = new Map<string, Allowance>();
  const leastSavings = new Map<string, LeastSaving>();
  for (const name of context.pools.keys()) {
    const allowed = (reason: DisruptionReason): number => allowedToPropose(context, name, reason).allowed;
    const allowance = { Empty: allowed('Empty'), Underutilized: allowed('Underutilized') };
    allowances.set(name, allowance);
    limits.set(name, isClosed(allowance) ? turnsOf(context, name) : allowance);
    const { leastShare: share, leastDollarsPerHour: dollarsPerHour } = rules(name);
    if (share > 0 || dollarsPerHour > 0) leastSavings.set(name, { share, dollarsPerHour });
  }
  return { allowances, limits, leastSavings };
}

type Limits = NonNullable<ConsolidationInput['limits']>;

/** How many nodes of a NodePool may be disrupted, by reason. */
interface Allowance {
  readonly Empty: number;
  readonly Underutilized: number;
}

const isClosed = (limit: Allowance | undefined): boolean =>
  limit !== undefined && limit.Underutilized === 0 && limit.Empty === 0;

/** What the NodePool allows at a time, after the running disruptions have ended. */
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
  if (searchOf(context, poolNameOf(view)) !== context.mode) return otherMode;
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
  return `${allowedToPropose(context, pool, 'Underutilized').ruledBy ?? 'what is disrupting already'} allows no more`;
}

function proposalOf(
  command: ConsolidationCommand,
  { commands, rejected }: Consolidation,
  context: DisruptionContext,
): Proposal {
  const byName = new Map(context.views.map((view) => [nodeNameOf(view), view]));
  const number = commands.indexOf(command);
  return {
    reason: 'Underutilized',
    method: command.method,
    candidates: command.candidates.map((name) => candidateOf(byName.get(name)!)),
    replacements: command.replacements,
    moves: command.moves.map(({ pod, to }) => ({ pod, to: to.replace(`replacement-${number}-`, 'replacement-0-') })),
    alternatives: alternativesOf(rejected),
  };
}

/** The rejected alternatives; nodes with the same reason are joined. */
function alternativesOf(rejected: Consolidation['rejected']): Proposal['alternatives'] {
  const byWhy = new Map<string, string[]>();
  for (const { candidates, why } of rejected) {
    // Skips nodes that would be launched by an earlier command of the same search.
    if (candidates.some((name) => name.startsWith('replacement-'))) continue;
    byWhy.set(why, [...(byWhy.get(why) ?? []), candidates.join(' + ')]);
  }
  return [...byWhy].map(([why, nodes]) => ({ nodes: listedNames(nodes), why }));
}
