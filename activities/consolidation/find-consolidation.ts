import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../../disruption/consolidation/types.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { candidateOf, cataloguesOf, nodeNameOf } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';
import { publishExcluded } from '../publish-excluded.js';
import type { Proposal, Proposals } from '../disruption-context/decision-record.js';
import {
  type DisruptionContext,
  lookAheadMs,
  poolNameOf,
  modeOf,
  worthSearchingBy,
} from '../disruption-context/disruption-context.js';
import { searchFingerprint, withoutCatalogue } from '../disruption-context/search-fingerprint.js';
import { betterThanAnswered, withAnswered } from './better-proposals.js';
import { isConsolidatable, otherMode, searchInput } from './search-input.js';
import { waitsForEmptyNodes } from './waits-for-empty-nodes.js';
import { concurrentCommands } from './concurrent-commands.js';
import { withoutUnready } from './unready-commands.js';
import { waitsOfCommands } from './waiting-commands.js';
import { StableSince } from '../disruption-context/stable-since.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { listedNames } from '../../core/text.js';

/** How often the cluster is searched again without any change (consolidation/when-it-searches). */
const searchEveryMs = 5 * 60_000;
/** The interval if the instance types of a NodePool could not be read. */
const missingTypesMs = 15_000;
/** Nodes that come up together become consolidatable one after the other: those of the same seconds get one search. */
const togetherMs = 5000;
/** Pause after a search, as a multiple of its duration without its time in the queue. */
const restFactor = 4;
/**
 * The longest that consolidatable nodes wait for others. It exceeds `lookAheadMs`, because pods that arrive on those
 * nodes meanwhile restart consolidateAfter.
 */
const longestWaitMs = 45_000;
/** The state and result of the last search. Kept in the process only, since searching again does no harm. */
interface LastSearch {
  fingerprint: string;
  at: number;
  /** No search before this time, milliseconds of the epoch, because the last one took long. */
  restUntil: number;
  stays: Consolidation['held'];
  /** Waits of nodes whose command was found but not started. */
  waits: readonly NodeWait[];
  /** Since when consolidatable nodes have waited for others to become consolidatable, while no command started. */
  waitingSince: number | undefined;
  readonly stableSince: StableSince;
}

export function noSearch(): LastSearch {
  return {
    fingerprint: '',
    at: 0,
    restUntil: 0,
    stays: [],
    waits: [],
    waitingSince: undefined,
    stableSince: new StableSince(),
  };
}

/**
 * Finds commands that save money and can run at the same time (consolidation/when-it-searches,
 * consolidation/several-nodes). Searches only if something changed since the last search without a result, or after
 * five minutes.
 */
export async function findConsolidation(
  deps: ActivityDeps,
  context: DisruptionContext,
  { last, seen }: { last: LastSearch; seen: number },
): Promise<Proposals> {
  const catalogues = await cataloguesOf(deps, [...context.pools.values()]);
  const missing = withoutCatalogue(context, catalogues);
  const checks = [...nextTimes(context), ...missing.map(() => context.now + missingTypesMs)];
  const soon = context.now + lookAheadMs;
  const by = worthSearchingBy(context.views, context.now);
  if (!context.views.some((view) => isConsolidatable(view, context, by))) {
    last.waits = [];
    return { proposals: [], held: [], checks };
  }
  const consolidatable = [context.now, soon].map(
    (by) => context.views.filter((view) => isConsolidatable(view, context, by)).length,
  );
  const fingerprint = searchFingerprint(context, { seen, consolidatable, catalogues });
  const due = Math.max(last.fingerprint === fingerprint ? last.at + searchEveryMs : 0, last.restUntil);
  if (context.now < due) return { proposals: [], held: [], checks: [...checks, due] };
  const found = await searchNow(deps, context, last, fingerprint);
  const unread = missing.map((nodePool) => ({ nodePool, why: 'its instance types cannot be read now' }));
  return { ...found, held: [...unread, ...found.held], checks: [...checks, ...found.checks] };
}

/** Searches, decides which of the commands start, and notes in `last` what the next search depends on. */
async function searchNow(
  deps: ActivityDeps,
  context: DisruptionContext,
  last: LastSearch,
  fingerprint: string,
): Promise<Proposals> {
  const soon = context.now + lookAheadMs;
  // In a busy cluster some node is always about to become consolidatable, so the wait for others is limited.
  const isPatient = last.waitingSince === undefined || context.now < last.waitingSince + longestWaitMs;
  const { input, allowed, held, chains, closed, full, opens } = await searchInput(
    deps,
    context,
    isPatient ? soon : context.now,
  );
  let began = deps.now();
  const { first, result, proposed, moot } = await search(deps.packer, input, context, () => (began = deps.now()));
  publishExcluded(deps, 'Consolidation', result.setAside);
  const tookMs = deps.now() - began;
  last.at = context.now;
  last.stays = [...first.held, ...first.notTaken, ...full].filter(({ why }) => why !== otherMode);
  const found = proposed.filter((command) => !waitsForEmptyNodes(command, context));
  const named = new Set(found.flatMap(({ candidates }) => candidates));
  last.stableSince.note(context.views, { named, unasked: closed, now: context.now });
  const notYet = notYetOf(context);
  const chosen = concurrentCommands(found, { limits: allowed }, { views: context.views, notYet });
  const concurrent = await withoutUnready(deps, context, chosen, last.stableSince);
  last.restUntil = context.now + (deps.now() - began) * restFactor;
  const { commands, notYetConsolidatable } = concurrent;
  const isWaiting = notYetConsolidatable.length > 0;
  last.waits = waitsOfCommands(proposed, concurrent, context);
  // Without consolidatable nodes nothing is waiting.
  const isHeldUp = isWaiting && commands.length === 0 && [...named].some((node) => !notYet.has(node));
  last.waitingSince = isHeldUp ? (last.waitingSince ?? context.now) : undefined;
  const isConclusive = !isWaiting && result.cutShort !== true;
  last.fingerprint = commands.length === 0 && isConclusive ? fingerprint : '';
  observeDuration(deps, tookMs);
  return {
    proposals: commands.map((command) => ({
      ...proposalOf(command, result, context),
      steers: deps.steerPods,
      validationMs: last.stableSince.restOf(command.candidates, context.now),
    })),
    held,
    checks: [...waitEndOf(last), ...opens, context.now + searchEveryMs],
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
  const mode = view === undefined ? context.mode : modeOf(context, poolNameOf(view));
  const { input } = await searchInput(deps, { ...context, mode }, context.now);
  return deps.packer.whyStays(input, node);
}

/** Searches nodes with open questions or refusals only if there is nothing else to do. */
async function search(
  packer: ActivityDeps['packer'],
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
  const first = await packer.consolidate(input, { onBegin });
  const again = first.commands.length > 0 ? undefined : withAnswered(input, context);
  if (again === undefined) return { first, result: first, proposed: first.commands, moot: [] };
  const result = await packer.consolidate(again);
  const { commands, moot } = betterThanAnswered(result.commands, context);
  return { first, result, proposed: commands, moot };
}

/** When consolidatable nodes stop waiting for others. */
function waitEndOf({ waitingSince }: LastSearch): readonly number[] {
  return waitingSince === undefined ? [] : [waitingSince + longestWaitMs];
}

function notYetOf({ views, now }: DisruptionContext): ReadonlySet<string> {
  return new Set(views.filter((view) => !(consolidatableAt(view) <= now)).map(nodeNameOf));
}

/** When nodes become consolidatable, and when they are included in plans: together with those of the same seconds. */
function nextTimes({ views, now }: DisruptionContext): number[] {
  const times = views.map(consolidatableAt).flatMap((at) => [at - lookAheadMs, at]);
  const later = times.flatMap((at) =>
    at > now && Number.isFinite(at) ? [Math.ceil(at / togetherMs) * togetherMs] : [],
  );
  return later.length === 0 ? [] : [later.reduce((a, b) => Math.min(a, b))];
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

function observeDuration({ metrics }: ActivityDeps, tookMs: number): void {
  const labels = { reason: 'underutilized', consolidation_type: 'multi' };
  metrics.observe('voluntary_disruption_decision_evaluation_duration_seconds', labels, tookMs / 1000);
}
