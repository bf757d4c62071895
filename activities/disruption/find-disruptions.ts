import { laggingKinds } from '../../cluster/lagging-kinds.js';
import type { QuestionToWithdraw, Pause } from '../../workflows/messages.js';
import { ClusterChanges } from './cluster-changes.js';
import type { LeastPossible } from '../../packing/least-possible.js';
import type { DisruptionCommand } from '../../disruption/command.js';
import type { DisruptionsFound } from './contract.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { ActivityDeps } from '../deps.js';
import { record } from '../disruption-context/decision-record.js';
import type { Proposal, Proposals, RecordedCommand } from '../disruption-context/decision-record.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { disruptionContext, rulesByPool } from '../disruption-context/disruption-context.js';
import { backOffEnds } from '../disruption-context/node-memory.js';
import { findConsolidation, noSearch } from '../consolidation/find-consolidation.js';
import {
  findDrift,
  findStaticDrift,
  isReplacedOnItsOwn,
  type UnlaunchablePools,
  waitsOfStaticDrift,
} from '../drift/find-drift.js';
import { StableSince } from '../disruption-context/stable-since.js';
import { SkippedNodes } from '../drift/skipped-nodes.js';
import { findEmpty } from '../consolidation/find-empty.js';
import { isTrue } from '../../core/conditions.js';
import { regarding } from '../../core/events.js';
import { isDeleting } from '../../core/names.js';
import { LeastPrice } from './least-price.js';
import { pausePool } from '../people/pauses.js';
import { mootQuestions } from './moot-questions.js';
import { WaitingNodes } from '../disruption-context/node-waits.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { isConsolidatableOrDrifted, stayingNodes, publishStaying } from './staying-nodes.js';
import type { StayingNodes } from './staying-nodes.js';
import { detailsOf } from './disruption-details.js';

const mostHeld = 20;
const mostExcluded = 5;
/** The most bytes of the commands of one search, because they are in one payload. */
const commandBytes = 40_000;
const notSyncedAgainMs = 1000;
const laggingAgainMs = 5000;
/** While so many nodes join, and more than a tenth of all, the result of a search is soon outdated: it waits this long. */
const manyJoining = { nodes: 10, restMs: 20_000 };
/** How often to check for disruptions that count against budgets although their workflow has ended. */
const leftOverCheckMs = 2 * 60_000;
/** The most nodes that may be disrupting at a time, because `disrupt` passes them to each search in one payload. */
const mostDisrupting = 1000;

const full: Proposals = {
  proposals: [],
  held: [
    { nodePool: 'all', why: `${mostDisrupting} nodes are already being removed; others wait until these are gone` },
  ],
  checks: [],
};

const notListed = { nodePool: 'all', why: 'the cluster has not been read yet' };
const joining = { nodePool: 'all', why: 'many nodes join: the next search is soon' };
const unreachable = {
  nodePool: 'all',
  why: 'the API server cannot be reached: nothing is disrupted until it answers',
};

/** The result of a search. */
interface Searched {
  readonly all: readonly Proposals[];
  readonly started: readonly RecordedCommand[];
  readonly decided: readonly RecordedCommand[];
  readonly isFresh: boolean;
  readonly least: LeastPossible | undefined;
  /** When `least` has to be computed again, milliseconds of the epoch. */
  readonly leastDue: readonly number[];
}

/** The methods in their order (candidates/methods-in-order), with the state that they keep between searches. */
export class DisruptionFinder {
  private readonly skipped = new SkippedNodes();
  private readonly unlaunchable: UnlaunchablePools = new Map();
  private readonly last = { Act: noSearch(), Ask: noSearch(), Recommend: noSearch() };
  private readonly emptySince = { Act: new StableSince(), Ask: new StableSince(), Recommend: new StableSince() };
  private readonly waiting = new WaitingNodes();
  private readonly changes: ClusterChanges;
  private readonly leastPrice: LeastPrice;

  private searchedAt = -Infinity;

  constructor(private readonly deps: ActivityDeps) {
    this.changes = new ClusterChanges(deps.cache);
    this.leastPrice = new LeastPrice(deps);
  }

  /**
   * Calls the methods in order; the first one with a result ends the search. The time of the last search is a metric.
   */
  async find(view: DisruptionView): Promise<DisruptionsFound> {
    const { deps } = this;
    const found = await this.search(view);
    deps.metrics.set('stowage_disruption_last_search_timestamp_seconds', {}, Math.floor(deps.now() / 1000));
    return found;
  }

  private async search(view: DisruptionView): Promise<DisruptionsFound> {
    const { deps } = this;
    if (!deps.cache.synced) return { commands: [], nextCheckAt: deps.now() + notSyncedAgainMs, held: [notListed] };
    const restsUntil = this.searchedAt + manyJoining.restMs;
    if (deps.now() < restsUntil && areManyJoining(deps))
      return { commands: [], nextCheckAt: restsUntil, held: [joining] };
    this.searchedAt = deps.now();
    // Read first, so that changes during the search count for the next one.
    const seen = this.changes.count;
    const isFresh = await this.isFresh();
    const context = await disruptionContext(deps, view);
    if (context.disrupting.length >= mostDisrupting)
      return this.answer(view, context, {
        ...{ all: [full], started: [], decided: [], isFresh },
        least: undefined,
        leastDue: [],
      });
    const all: Proposals[] = [];
    let started: readonly RecordedCommand[] = [];
    let decided: readonly RecordedCommand[] = [];
    for (const look of this.methods(context, seen)) {
      const found = await look();
      all.push(found);
      const recorded = recordAll(found.proposals, context);
      decided = [...decided, ...recorded];
      started = fitting(recorded.filter(({ recommendOnly }) => !recommendOnly));
      if (started.length > 0) break;
    }
    announce(deps, decided);
    for (const { nodePool, why } of all.flatMap(({ chains = [] }) => chains)) await pausePool(deps, nodePool, why);
    const least = await this.leastPrice.of(seen);
    const leastDue = this.leastPrice.due(seen);
    return this.answer(view, context, { all, started, decided, isFresh, least, leastDue });
  }

  /**
   * Whether the watch cache is current: `disrupt` may have been signalled by another process, which saw a change first.
   */
  private async isFresh(): Promise<boolean> {
    const { cache, now } = this.deps;
    return (await laggingKinds(cache, ['NodeClaim', 'NodePool'], now())).length === 0;
  }

  /**
   * Each method for NodePools with mode Act, then for those with mode Recommend. Consolidation searches NodePools whose
   * policy requires approval separately.
   */
  private methods(context: DisruptionContext, seen: number): readonly (() => Proposals | Promise<Proposals>)[] {
    const { deps, skipped, unlaunchable } = this;
    const modes = context.recommending.size === 0 ? (['Act'] as const) : (['Act', 'Recommend'] as const);
    const methods: readonly ((context: DisruptionContext) => Proposals | Promise<Proposals>)[] = [
      (own) => findEmpty(own, this.emptySince[own.mode]),
      (own) => findStaticDrift(deps, own, unlaunchable),
      (own) => findDrift(deps, own, skipped),
    ];
    const consolidates = (mode: DisruptionContext['mode']) => () =>
      findConsolidation(deps, { ...context, mode }, { last: this.last[mode], seen });
    return [
      ...methods.flatMap((method) => modes.map((mode) => () => method({ ...context, mode }))),
      ...searchesOf(context).map(consolidates),
    ];
  }

  private answer(
    view: DisruptionView,
    context: DisruptionContext,
    { all, started, decided, isFresh, least, leastDue }: Searched,
  ): DisruptionsFound {
    const away = this.deps.cache.connected ? [] : [unreachable];
    const held = [
      ...away,
      ...heldByExclusion(context),
      ...all.flatMap((found) => found.held),
      ...pausesHeld(context.pauses),
    ].slice(0, mostHeld);
    const checks = [
      ...all.flatMap((found) => found.checks),
      ...context.checks,
      ...backOffEnds(context, rulesByPool(context)),
      ...leastDue,
      // Their workflows may end without a signal, for example when they are terminated (candidates/left-over-taints).
      ...(context.counting.size > 0 ? [context.now + leftOverCheckMs] : []),
      // The watch cache does not have the change yet, and there will be no further signal: search again.
      ...(isFresh ? [] : [context.now + laggingAgainMs]),
    ].filter((at) => at > context.now);
    const dead = mootQuestions(context);
    const isDead = ({ workflowId }: QuestionToWithdraw): boolean => dead.some((one) => one.workflowId === workflowId);
    const moot = [...dead, ...all.flatMap((found) => found.moot ?? []).filter((one) => !isDead(one))];
    const anew = started.map((one) => ({ one, questions: questionsAbout(one, context) }));
    const ready = anew.filter(({ questions }) => questions.length === 0).map(({ one }) => one);
    moot.push(
      ...anew.flatMap(({ questions }) =>
        questions.filter((one) => !moot.some(({ workflowId }) => workflowId === one.workflowId)),
      ),
    );
    const waits = this.waits(context);
    const staying = this.staying(context, started, waits);
    publishStaying(this.deps, staying);
    const details = detailsOf(
      context,
      decided.map(({ summary }) => summary),
      { staying, least, waits: this.waiting.record(waits, context.now) },
    );
    return {
      commands: ready.map(({ command }) => command),
      candidates: context.views.filter((each) => isConsolidatableOrDrifted(each, context.now)).length,
      ...(checks.length === 0 ? {} : { nextCheckAt: checks.reduce((a, b) => Math.min(a, b)) }),
      held,
      ...(started.length === 0 ? {} : { again: true }),
      ...(moot.length === 0 ? {} : { moot }),
      ...(details.hash === view.knownDetails ? {} : { details }),
    };
  }

  private waits(context: DisruptionContext): readonly NodeWait[] {
    this.skipped.keepOnly(context.views.filter((view) => isReplacedOnItsOwn(view, context)));
    return [
      ...this.skipped.waits,
      ...waitsOfStaticDrift(context, this.unlaunchable),
      ...searchesOf(context).flatMap((mode) => this.last[mode].waits),
    ];
  }

  private staying(
    context: DisruptionContext,
    started: readonly RecordedCommand[],
    waits: readonly NodeWait[],
  ): StayingNodes {
    const searched = searchesOf(context).flatMap((mode) => this.last[mode].stays);
    const going = started.flatMap(({ command }) => command.candidates.map(({ node }) => node));
    return stayingNodes(context, { searched, waits }, new Set(going));
  }
}

function areManyJoining({ cache }: Pick<ActivityDeps, 'cache'>): boolean {
  const claims = cache.all('NodeClaim').filter((claim) => !isDeleting(claim));
  const count = claims.filter(({ status }) => !isTrue(status?.conditions, 'Initialized')).length;
  return count >= manyJoining.nodes && count * 10 > claims.length;
}

/** Open questions about nodes of the command, which replaces them once they are withdrawn. */
const questionsAbout = (
  { command: { reason, candidates } }: RecordedCommand,
  { questions }: DisruptionContext,
): readonly QuestionToWithdraw[] => {
  const uids = new Set(candidates.map(({ claim }) => claim.uid));
  return questions
    .filter((question) => question.candidates.some(({ claim }) => uids.has(claim.uid)))
    .map(({ workflowId }) => ({ workflowId, why: `${reason}: decided anew`, isSuperseded: true }));
};

/**
 * The searches for consolidation: NodePools whose policy requires approval, and those that only recommend, are searched
 * separately.
 */
function searchesOf({ asking, recommending }: DisruptionContext): readonly DisruptionContext['mode'][] {
  return [
    'Act',
    ...(asking.size === 0 ? [] : (['Ask'] as const)),
    ...(recommending.size === 0 ? [] : (['Recommend'] as const)),
  ];
}

/** The records of the commands; each lists the nodes of those before it. */
function recordAll(proposals: readonly Proposal[], context: DisruptionContext): readonly RecordedCommand[] {
  const rules = rulesByPool(context);
  const alongside = [...context.disrupting];
  return proposals.map((proposal) => {
    const recorded = record(proposal, context, rules, alongside);
    if (!recorded.recommendOnly) alongside.push(...proposal.candidates.map(({ node }) => node));
    return recorded;
  });
}

/** As many commands as fit into one payload, at least one. */
function fitting(recorded: readonly RecordedCommand[]): readonly RecordedCommand[] {
  let room = commandBytes;
  return recorded.filter(({ command }, i) => {
    room -= JSON.stringify(command).length;
    return i === 0 || room >= 0;
  });
}

function announce(deps: ActivityDeps, decided: readonly RecordedCommand[]): void {
  for (const { command, summary, recommendOnly } of decided) {
    count(deps, command);
    deps.log.info({ ...summary }, recommendOnly ? 'nodes could go' : 'nodes may go');
    if (!recommendOnly) continue;
    const after = summary.replacements.length === 0 ? 'nothing' : summary.replacements.join(', ');
    for (const { node } of command.candidates) {
      deps.events.publish({
        regarding: regarding('Node', { name: node }),
        type: 'Normal',
        reason: 'ConsolidationCandidate',
        message: `Recommended (${summary.reason}): replace ${summary.nodes.join(', ')} by ${after}, saving ${summary.saves} USD an hour`,
        dedupeMs: 15 * 60_000,
      });
    }
  }
}

function count(deps: ActivityDeps, { reason, candidates, decision }: DisruptionCommand): void {
  const type = decision?.method ?? 'empty';
  const counted = { decision: decision?.decision ?? 'delete', reason: reason.toLowerCase(), consolidation_type: type };
  deps.metrics.count('voluntary_disruption_decisions_total', counted);
  for (const nodepool of new Set(candidates.map(({ nodePool }) => nodePool))) {
    deps.metrics.count('voluntary_disruption_decisions_by_nodepool_total', { ...counted, nodepool });
  }
  deps.log.debug({ nodes: candidates.length }, 'counted a decision');
}

function heldByExclusion({ excluded }: DisruptionContext): { nodePool: string; why: string }[] {
  return excluded.slice(0, mostExcluded).map(({ kind, name, error }) => {
    return { nodePool: 'all', why: `${kind} ${name} cannot be read and is left alone: ${error}` };
  });
}

function pausesHeld(pauses: readonly Pause[]): { nodePool: string; why: string }[] {
  return pauses.map(({ scope, reason }) => ({ nodePool: scope.name ?? 'all', why: `paused: ${reason}` }));
}
