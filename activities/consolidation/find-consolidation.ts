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
import { tellAside } from '../tell-aside.js';
import type { Proposal, Proposals } from '../look/decision-record.js';
import type { DisruptionContext } from '../look/disruption-context.js';
import {
  allowedFor,
  memoryOf,
  pausableOf,
  poolNameOf,
  rulesByPool,
  searchOf,
  whyPaused,
  whyRested,
} from '../look/disruption-context.js';
import { counted } from '../../core/plurals.js';
import { stampOf, withoutCatalogue } from '../look/look-stamp.js';
import { allowedToPropose, whyAnswered } from '../look/asked.js';
import { betterThanAnswered, withAnswered } from './better-proposals.js';
import { waitsForEmptyNodes } from './waits-for-empty-nodes.js';
import { packingInput } from '../../cluster/packing-input.js';
import { StableSince } from '../look/stable-since.js';

/** Without any change the cluster is looked at again this often (consolidation/when-it-looks). */
const lookEveryMs = 5 * 60_000;
/** Sooner where the instance types of a NodePool could not be had. */
const missingTypesMs = 15_000;
/** A search that takes long is not begun anew at once: so many times its own duration pass, without its time in a queue. */
const restFactor = 4;
/**
 * Nodes that become consolidatable within this are planned with: a plan that overlooks them moves pods onto nodes that go a
 * moment later, and takes what is small and ripe while what saves most has to wait. Their commands wait until they are, and
 * have then proved stable.
 */
const lookAheadMs = 30_000;
/** What could go now waits no longer than this for nodes that are to be planned with. */
const patienceMs = 30_000;
/** Commands of one search that may start together. */
const mostCommands = 10;

/** Of the price of a node on average: what a replacement by more nodes than go is to save. */
const leastSplitShare = 0.2;
/** The same for a replacement of nodes that moves within a day put pods on. */
const leastAgainShare = 0.15;

/** Of what the fleet costs: what moving all of its pods once is to save. */
const disruptionWeight = 0.05;

const nobody: ReadonlySet<string> = new Set();

/** Why nodes are kept that the look is not about. */
const otherMode = 'its NodePool is searched apart from this one';

/** What the last search saw, and what it came to; kept by the process, since looking again does no harm. */
export interface LastSearch {
  stamp: string;
  at: number;
  /** Not before then, milliseconds of the epoch: the last one took long. */
  restUntil: number;
  stays: Consolidation['held'];
  /** Since when nodes whose time has come have waited for others to become consolidatable while nothing began. */
  waitingSince: number | undefined;
  readonly stableSince: StableSince;
}

export function noSearch(): LastSearch {
  return { stamp: '', at: 0, restUntil: 0, stays: [], waitingSince: undefined, stableSince: new StableSince() };
}

/**
 * Rules `consolidation/when-it-looks`, `consolidation/several-nodes`: commands that save money, those that can run side by side. Looks only when something changed since
 * the last look that found nothing, or after five minutes; a look that budgets cut short is not taken for the last word.
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
  if (!context.views.some((view) => isRipe(view, context, soon))) return { proposals: [], held: [], checks };
  const ripe = [context.now, soon].map((by) => context.views.filter((view) => isRipe(view, context, by)).length);
  const stamp = stampOf(context, { seen, ripe, catalogues });
  const due = Math.max(last.stamp === stamp ? last.at + lookEveryMs : 0, last.restUntil);
  if (context.now < due) return { proposals: [], held: [], checks: [...checks, due] };
  // Where nodes are busy some are always to become ripe in a moment: the others do not wait for them for ever.
  const isPatient = last.waitingSince === undefined || context.now < last.waitingSince + patienceMs;
  const { input, allowed, held, chains, limited, closed, full, opens } = await searchInput(
    deps,
    context,
    isPatient ? soon : context.now,
  );
  let began = deps.now();
  const { first, result, proposed, moot } = await search(deps, input, context, () => (began = deps.now()));
  tellAside(deps, 'Consolidation', result.setAside);
  const tookMs = deps.now() - began;
  last.at = context.now;
  last.restUntil = context.now + tookMs * restFactor;
  last.stays = [...first.held, ...first.notTaken, ...full].filter(({ why }) => why !== otherMode);
  const found = proposed.filter((command) => !waitsForEmptyNodes(command, context));
  const named = new Set(found.flatMap(({ candidates }) => candidates));
  last.stableSince.note(context.views, { named, unasked: closed, now: context.now });
  const unripe = unripeOf(context);
  const { commands, blocked, waiting } = sideBySide(found, { limits: allowed }, { views: context.views, unripe });
  // While no node's time has come nobody has to wait for others.
  const isHeldUp = waiting && commands.length === 0 && [...named].some((node) => !unripe.has(node));
  last.waitingSince = isHeldUp ? (last.waitingSince ?? context.now) : undefined;
  // Budgets that were in the way may not be so the next time.
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

/** Why taking exactly this node comes to nothing now, as the search judges it; undefined where it is taken. */
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

/** What people are asked about, or said no to, is looked at again when there is nothing else to do. */
async function search(
  deps: ActivityDeps,
  input: ConsolidationInput,
  context: DisruptionContext,
  onBegin: () => void,
): Promise<{
  readonly first: Consolidation;
  /** Of which the commands are that may start. */
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

/** When nodes whose time has come wait for others no longer. */
function patienceOf({ waitingSince }: LastSearch): readonly number[] {
  return waitingSince === undefined ? [] : [waitingSince + patienceMs];
}

/** Whether the time of the node has come (consolidation/consolidate-after). */
function isRipe(view: NodeView, context: DisruptionContext, by = context.now): boolean {
  if (searchOf(context, poolNameOf(view)) !== context.mode) return false;
  return consolidatableAt(view) <= by && !context.claimed.has(view.claim.metadata.uid ?? '');
}

function unripeOf({ views, now }: DisruptionContext): ReadonlySet<string> {
  return new Set(views.filter((view) => !(consolidatableAt(view) <= now)).map(nodeNameOf));
}

/** When nodes become consolidatable, and when they begin to be planned with. */
function waking({ views, now }: DisruptionContext): number[] {
  const times = views.map(consolidatableAt).flatMap((at) => [at - lookAheadMs, at]);
  const later = times.filter((at) => at > now && Number.isFinite(at));
  return later.length === 0 ? [] : [later.reduce((a, b) => Math.min(a, b))];
}

/** What the search is given: nodes that people, policies or memory keep, limits and thresholds by pool. */
async function searchInput(
  deps: ActivityDeps,
  context: DisruptionContext,
  ripeBy: number,
): Promise<{
  readonly input: ConsolidationInput;
  /** How many nodes of each NodePool may go now. */
  readonly allowed: Limits;
  readonly held: { nodePool: string; why: string }[];
  readonly chains: { nodePool: string; why: string }[];
  readonly limited: boolean;
  /** Nodes of pools that let none go now. */
  readonly closed: ReadonlySet<string>;
  /** Nodes of pools that let none go until those have gone that are on their way out. */
  readonly full: Consolidation['held'];
  /** When windows open of pools that let none go now, milliseconds of the epoch. */
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
    const own = whyKept(view, { context, ripeBy }, rules(pool), chains);
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
    ripeBy,
    mostCommands,
    kept,
    limits,
    leastSavings,
  };
  const limited = [...allowances.values()].some(({ Underutilized }) => Underutilized === 0);
  const paused = [...chains].map(([nodePool, why]) => ({ nodePool, why }));
  return { input, allowed: allowances, held, chains: paused, limited, closed, full, opens };
}

/** What bounds the search in each NodePool. */
function boundsOf(
  context: DisruptionContext,
  rules: (nodePool: string) => PoolRules,
): {
  readonly allowances: ReadonlyMap<string, Allowance>;
  /** What goes next is looked for while those before are still on their way: it will have proved stable when its turn comes. */
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

/** How many nodes of a NodePool may go, by reason. */
interface Allowance {
  readonly Empty: number;
  readonly Underutilized: number;
}

const isClosed = (limit: Allowance | undefined): boolean =>
  limit !== undefined && limit.Underutilized === 0 && limit.Empty === 0;

/** What the pool lets go at a time once those have gone that are on their way out. */
function turnsOf(context: DisruptionContext, nodePool: string): Allowance {
  const { total, disrupting } = context.counts.get(nodePool) ?? { total: 0, disrupting: 0 };
  const count = { total: total - disrupting, disrupting: 0 };
  const of = (reason: DisruptionReason): number =>
    disrupting === 0 ? 0 : limitOf(context.pools.get(nodePool), reason, count, context).allowed;
  return { Empty: of('Empty'), Underutilized: of('Underutilized') };
}

function whyKept(
  view: NodeView,
  { context, ripeBy }: { context: DisruptionContext; ripeBy: number },
  rules: PoolRules,
  chains: Map<string, string>,
): string | undefined {
  if (searchOf(context, poolNameOf(view)) !== context.mode) return otherMode;
  const why =
    whyPaused(context.pauses, 'Underutilized', pausableOf(view)) ??
    whyRested(context, view, rules) ??
    whyAnswered(context, view, 'Underutilized');
  if (why !== undefined) return why;
  const depth = memoryOf(context, view)?.depth ?? 0;
  if (depth < rules.maxMoveChain || !isRipe(view, context, ripeBy)) return undefined;
  const chain = `pods of ${nodeNameOf(view)} were moved ${counted(depth, 'time')} in a row within a day, and maxMoveChain is ${rules.maxMoveChain}`;
  if (isRipe(view, context)) chains.set(poolNameOf(view), chain);
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

/**
 * Commands come one after the other, each on what the one before leaves. Those that rest on another one's outcome, and
 * those that budgets do not let go at the same time, wait for the next look; what saves most for a node goes first. One whose
 * nodes are not all consolidatable yet waits as well, and its place is kept for it.
 */
export function sideBySide(
  commands: readonly ConsolidationCommand[],
  { limits }: Pick<ConsolidationInput, 'limits'>,
  { views, unripe = nobody }: Pick<DisruptionContext, 'views'> & { readonly unripe?: ReadonlySet<string> },
): { readonly commands: readonly ConsolidationCommand[]; readonly blocked: boolean; readonly waiting: boolean } {
  const poolOf = new Map(views.map((view) => [nodeNameOf(view), poolNameOf(view)]));
  const touched = new Set<string>();
  const going = new Set<string>();
  const left = new Map([...(limits ?? [])].map(([pool, { Underutilized = 0 }]) => [pool, Underutilized]));
  let blocked = false;
  const chosen = [...commands].sort(bySaving).filter(({ method, candidates, moves }) => {
    if (method === 'empty') return false;
    const rests =
      candidates.some((node) => touched.has(node) || !poolOf.has(node)) ||
      moves.some(({ to }) => going.has(to)) ||
      moves.some(({ to }) => to.startsWith('replacement-') && foreign(to, commands, candidates));
    if (rests) return false;
    const needed = new Map<string, number>();
    for (const node of candidates) needed.set(poolOf.get(node)!, (needed.get(poolOf.get(node)!) ?? 0) + 1);
    if ([...needed].some(([pool, count]) => count > (left.get(pool) ?? Number.POSITIVE_INFINITY))) {
      blocked = true;
      return false;
    }
    for (const [pool, count] of needed) left.set(pool, (left.get(pool) ?? Number.POSITIVE_INFINITY) - count);
    for (const node of candidates) going.add(node);
    for (const { to } of moves) touched.add(to);
    return true;
  });
  const ripe = chosen.filter(({ candidates }) => !candidates.some((name) => unripe.has(name)));
  return { commands: ripe, blocked, waiting: ripe.length < chosen.length };
}

/** The most dollars for a node that goes; ties in the order in which they were found. */
function bySaving(a: ConsolidationCommand, b: ConsolidationCommand): number {
  return savingPerNode(b) - savingPerNode(a);
}

function savingPerNode({ priceBefore, priceAfter, candidates }: ConsolidationCommand): number {
  return (priceBefore - priceAfter) / candidates.length;
}

/** Whether a replacement is another command's than that of these candidates. */
function foreign(to: string, commands: readonly ConsolidationCommand[], candidates: readonly string[]): boolean {
  const [, number] = to.split('-');
  return commands[Number(number)]?.candidates !== candidates;
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

/** What else was looked at, nodes that were turned down for the same reason together. */
function alternativesOf(rejected: Consolidation['rejected']): Proposal['alternatives'] {
  const byWhy = new Map<string, string[]>();
  for (const { candidates, why } of rejected) {
    // Nodes that only an earlier command of the same search would launch.
    if (candidates.some((name) => name.startsWith('replacement-'))) continue;
    byWhy.set(why, [...(byWhy.get(why) ?? []), candidates.join(' + ')]);
  }
  return [...byWhy].map(([why, nodes]) => ({ nodes: listed(nodes), why }));
}

/** The first few of many. */
function listed(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}
