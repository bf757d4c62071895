import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  patched,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { DisruptionCommand, DisruptionDetails, DisruptionsFound, DisruptionView } from '../activities/contract.js';
import { compareText } from '../core/compare-text.js';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { consolidate } from './consolidate.js';
import { recordDeparture } from './departures.js';
import type {
  Candidate,
  Decision,
  DecisionSummary,
  Departure,
  DisruptInput,
  DisruptionFinished,
  DisruptionPlan,
  DisruptState,
  GoingNode,
  LeavingNode,
  NextWindow,
  NodeMemory,
  NodeVerdict,
  Pause,
  PauseOrder,
  PauseScope,
  ResumeOrder,
  RunningDisruption,
  SlotDecision,
  SlotRequest,
} from './messages.js';
import {
  budgetsQuery,
  clusterChangedSignal,
  disruptionFinishedSignal,
  disruptionPlanQuery,
  holdSignal,
  nextWindowQuery,
  nominatedSignal,
  pausesQuery,
  pauseSignal,
  pauseUpdate,
  resumeSignal,
  resumeUpdate,
  runningQuery,
  searchAttributes,
  slotRequestSignal,
  slotReturnedSignal,
  steerSignal,
  whyNotQuery,
  whyNotUpdate,
} from './messages.js';
import { forgetChains, remember } from './move-memory.js';
import { summaryOf } from './move-text.js';
import { obey } from './orders.js';
import { Pauses } from './pauses.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { isStartedAlready, tell } from './relations.js';
import { SlotBook, withoutSlot } from './slot-book.js';
import { Steering } from './steering.js';

const eventsPerRun = 4000;
/** Changes come in flocks: look once for all of them. */
const settleMs = 1000;
/** Signals tell of changes and windows; this poll is for what neither told. */
const slowPollMs = 5 * 60_000;
/** What runs for long is asked now and then whether it is still there: it counts against budgets. */
const askedEveryMs = 3_600_000;
/** For how long a chain of moves pauses a NodePool. */
const chainPauseMs = 24 * 3_600_000;

/** What the Temporal UI says of orders and questions, with what to send. */
const scope = '"scope": {"kind": "cluster|nodePool|reason|node", "name"?, "reason"?}';
const descriptions = {
  pause: `stop voluntary disruption in a scope: {${scope}, "actor", "reason", "ttl"?}`,
  resume: `end the pause of a scope: {${scope}, "actor"}`,
  whyNot: 'why a node stays: "NODE"',
  pauses: 'who paused what, why, and until when',
  running: 'what is on its way out',
  budgets: 'how many nodes of each NodePool may go now, and what rules that',
  nextWindow: 'when what is closed opens next',
  plan: 'what the last look decided, and why pools keep nodes',
} as const;

/**
 * The single writer of disruption budgets (sections 4.1, 4.2): decides which nodes may go now and starts one
 * `consolidate` for each decision; gives slots to every other voluntary disruption. What runs counts until it has
 * reported its end. Pauses live here and reach running ones.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  await run.releaseStrays();
  void run.steering.follow();
  while (!run.due()) {
    await run.pass();
  }
  if (!allHandlersFinished()) await condition(allHandlersFinished);
  if (run.steering.isBusy) await condition(() => !run.steering.isBusy);
  return continueAsNew<typeof disrupt>({ ...input, carried: run.state() });
}

class DisruptRun {
  readonly steering: Steering;
  private readonly activities;
  private readonly progress: Progress;
  private readonly pauses: Pauses;
  private readonly book: SlotBook;
  private nominations: readonly LeavingNode[];
  private running: readonly RunningDisruption[];
  private departures: readonly Departure[];
  private readonly askedAt = new Map<string, number>();
  private memory: readonly NodeMemory[];
  private found: (DisruptionsFound & { readonly at: string }) | undefined;
  private details: DisruptionDetails | undefined;
  private decisions: readonly DecisionSummary[] = [];
  private changed = true;
  private wakeAt = 0;

  constructor(private readonly input: DisruptInput) {
    const { cluster, carried } = input;
    this.activities = activitiesOf(cluster);
    this.steering = new Steering(this.activities.kube, carried?.steering);
    this.nominations = carried?.nominations ?? [];
    this.pauses = new Pauses(carried?.pauses);
    this.running = carried?.running ?? [];
    this.book = new SlotBook(carried?.requests);
    this.departures = carried?.departures ?? [];
    this.memory = carried?.memory ?? [];
    this.listen();
    this.answer();
    this.progress = new Progress(
      'Disruption: nodes go away when they are not needed',
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.paused, value: this.pauses.all.length > 0 },
      ],
      {},
      'watching',
    );
    this.obeyPeople();
  }

  due(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength > eventsPerRun;
  }

  state(): DisruptState {
    const { nominations, running, departures, memory } = this;
    const steering = this.steering.state;
    return {
      nominations,
      pauses: this.pauses.all,
      running,
      requests: this.book.waiting,
      departures,
      memory,
      ...(steering === undefined ? {} : { steering }),
    };
  }

  async releaseStrays(): Promise<void> {
    const isSteering = this.steering.state !== undefined;
    await this.activities.kube.releaseStrays({ running: this.running, ...(isSteering ? { isSteering } : {}) });
  }

  /** Waits for a change, lets go who may go, looks for what else may, and starts it. */
  async pass(): Promise<void> {
    await this.awaitChange();
    await this.askOldOnes();
    const slotsCheckAt = await this.admit();
    const found = await this.activities.kube.findDisruptions(this.view());
    this.note(found);
    for (const command of found.commands) await this.start(command);
    // What one method did not find another may (section 4.1).
    if (found.again === true) this.changed = true;
    this.wakeAt = Math.min(
      found.nextCheckAt ?? Number.POSITIVE_INFINITY,
      slotsCheckAt,
      workflowNow() + slowPollMs,
      this.pauses.nextEnd(),
    );
    this.progress.note({
      running: this.running.length,
      held: found.held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
      ...(this.book.waiting.length === 0 ? {} : { 'slots waited for': this.book.waiting.length }),
    });
  }

  private listen(): void {
    setHandler(clusterChangedSignal, () => void (this.changed = true));
    setHandler(nominatedSignal, (nodes) => this.nominate(nodes));
    setHandler(disruptionFinishedSignal, (finished) => this.finish(finished));
    setHandler(steerSignal, (move) => this.steering.begin(move));
    setHandler(slotRequestSignal, (request) => {
      this.book.take(request);
      this.changed = true;
    });
    setHandler(slotReturnedSignal, ({ id, nodes }) => {
      this.book.withdraw(id, nodes);
      this.running = withoutSlot(this.running, id, nodes);
      this.changed = true;
    });
  }

  /** Orders change what `progress` shows: one may be there before the first step. */
  private obeyPeople(): void {
    const pauseSignalled = (order: PauseOrder): void =>
      this.obey('pause', {
        check: () => this.pauses.checkPause(order, this.knownPools()),
        act: () => this.pause(() => this.pauses.add(order)),
      });
    const resumeSignalled = (order: ResumeOrder): void =>
      this.obey('resume', {
        check: () => this.pauses.checkResume(order),
        act: () => this.resume(order.scope),
      });
    setHandler(pauseSignal, pauseSignalled, { description: descriptions.pause });
    setHandler(resumeSignal, resumeSignalled, { description: descriptions.resume });
    setHandler(pauseUpdate, (order) => this.pause(() => this.pauses.add(order)), {
      validator: (order: PauseOrder) => this.pauses.checkPause(order, this.knownPools()),
      description: descriptions.pause,
    });
    setHandler(resumeUpdate, ({ scope }) => this.resume(scope), {
      validator: (order: ResumeOrder) => this.pauses.checkResume(order),
      description: descriptions.resume,
    });
  }

  /** Histories of older builds took every order as it came. */
  private obey(name: string, { check, act }: { readonly check: () => void; readonly act: () => unknown }): void {
    if (patched('orders-by-signal-are-checked')) obey(this.progress, name, { check, act });
    else act();
  }

  private answer(): void {
    const explained = (node: string): Promise<NodeVerdict> =>
      this.activities.kube.explainNode.executeWithOptions({ summary: `why not ${node}?` }, [
        { node, view: this.view() },
      ]);
    const { whyNot, pauses, running, budgets, nextWindow, plan } = descriptions;
    setHandler(whyNotUpdate, explained, { description: `${whyNot} (looks anew)` });
    setHandler(whyNotQuery, (node) => this.whyNot(node), { description: `${whyNot} (from the last look)` });
    setHandler(pausesQuery, () => this.pauses.all, { description: pauses });
    setHandler(runningQuery, () => this.running, { description: running });
    setHandler(budgetsQuery, () => this.details?.budgets ?? [], { description: budgets });
    setHandler(nextWindowQuery, () => this.nextWindow(), { description: nextWindow });
    setHandler(disruptionPlanQuery, () => this.lastPlan(), { description: plan });
  }

  private async awaitChange(): Promise<void> {
    if (!this.changed) {
      this.progress.enter('watching', { waitingFor: 'the cluster to change', until: this.wakeAt });
      const wait = Math.max(settleMs, this.wakeAt - workflowNow());
      await condition(() => this.changed, wait, { summary: 'next budget window or look' });
    }
    this.changed = false;
    // A short pause, so that a hundred signals of one deployment give one look.
    await condition(() => false, settleMs, { summary: 'changes to settle' });
    this.changed = false;
  }

  private view(): DisruptionView {
    const now = workflowNow();
    this.nominations = this.nominations.filter(({ until }) => until > now);
    if (this.pauses.expire(now)) this.afterPauseChange();
    const { nominations, running, departures, memory } = this;
    return {
      nominations,
      pauses: this.pauses.all,
      running,
      ...(departures.length === 0 ? {} : { departures }),
      ...(memory.length === 0 ? {} : { memory }),
      ...(this.details === undefined ? {} : { knownDetails: this.details.hash }),
    };
  }

  /** Whoever does not take a signal any more is over: it counts no longer, and nothing may tell of it. */
  private async askOldOnes(): Promise<void> {
    const now = workflowNow();
    const before = this.running.length;
    for (const one of this.running) {
      const { workflowId, reason, candidates } = one;
      if (now - (this.askedAt.get(workflowId) ?? one.since) < askedEveryMs) continue;
      this.askedAt.set(workflowId, now);
      const held = this.pauses.holding(reason, candidates) !== undefined;
      if (await tell(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, held))) continue;
      this.running = this.running.filter((other) => other.workflowId !== workflowId);
      this.askedAt.delete(workflowId);
      this.steering.end(workflowId);
    }
    if (this.running.length < before && patched('what-is-lost-leaves-no-taint')) await this.releaseStrays();
  }

  /** Decides about the slots that wait. Gives when to look again, milliseconds of the epoch. */
  private async admit(): Promise<number> {
    for (const request of this.book.waiting) this.book.grant(request.id, this.grantedTo(request.id));
    let checkAt = Number.POSITIVE_INFINITY;
    for (const portion of this.book.portions()) {
      const requests = portion.map(({ id, reason, candidates }) => ({ id, reason, candidates }));
      const { decisions } = await this.activities.kube.decideSlots.executeWithOptions(
        { summary: `slots for ${requests.length} requests` },
        [{ view: this.view(), requests }],
      );
      for (const decision of decisions) {
        checkAt = Math.min(checkAt, decision.nextCheckAt ?? Number.POSITIVE_INFINITY);
        const request = this.book.waiting.find(({ id }) => id === decision.id);
        // Withdrawn while it was decided about.
        if (request !== undefined) await this.grant(request, decision);
      }
    }
    this.book.sweep();
    return checkAt;
  }

  private async grant(request: SlotRequest, decision: SlotDecision): Promise<void> {
    const { id, workflowId, reason } = request;
    const now = workflowNow();
    const wanted = new Set(request.candidates.map(({ claim }) => claim.uid));
    // A pause may have come while the activity ran.
    const granted = decision.granted.filter(
      (one) => wanted.has(one.claim.uid) && this.pauses.holding(reason, [one]) === undefined,
    );
    if (granted.length > 0) {
      this.running = [...this.running, { workflowId, reason, candidates: granted, since: now, slot: id }];
      this.departures = recordDeparture(this.departures, reason, granted, now);
      this.book.grant(id, granted);
    }
    const heard = await this.book.tell(request, { ...decision, granted: this.grantedTo(id) });
    if (heard) return;
    this.book.withdraw(id, undefined);
    this.running = withoutSlot(this.running, id, undefined);
  }

  private grantedTo(id: string): readonly GoingNode[] {
    return this.running.flatMap(({ slot, candidates }) => (slot === id ? candidates : []));
  }

  private async start({ reason, candidates, decision, validationMs }: DisruptionCommand): Promise<void> {
    const { cluster } = this.input;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    const going = candidates.map(({ claim, node, nodePool }): GoingNode => ({ claim, node, nodePool }));
    const since = workflowNow();
    const heeds = decision === undefined ? {} : { heeds: true };
    this.running = [...this.running, { workflowId, reason, candidates: going, since, ...heeds }];
    this.departures = recordDeparture(this.departures, reason, going, since);
    const summary = summaryOf(reason, candidates, decision);
    this.progress.enter('starting', { facts: { 'last decision': summary } });
    try {
      await startChild<typeof consolidate>('consolidate', {
        workflowId,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: summary,
        ...(decision === undefined ? {} : { memo: memoOf(candidates, decision) }),
        args: [
          {
            cluster,
            reason,
            candidates,
            paused: this.pauses.holding(reason, candidates) !== undefined,
            stepsBack: true,
            ...(decision === undefined ? {} : { decision }),
            ...(validationMs === undefined ? {} : { validationMs }),
          },
        ],
      });
    } catch (error) {
      if (!isStartedAlready(error)) throw error;
    }
  }

  private nominate(nodes: readonly LeavingNode[]): void {
    const fresh = new Set(nodes.map(({ node }) => node));
    this.nominations = [...this.nominations.filter(({ node }) => !fresh.has(node)), ...nodes];
    // A decision that has not been validated yet is not to overlook it (section 4.11).
    for (const { workflowId, candidates, heeds } of this.running) {
      const own = nodes.filter(({ node }) => candidates.some((one) => one.node === node));
      if (heeds !== true || own.length === 0) continue;
      void tell(() => getExternalWorkflowHandle(workflowId).signal(nominatedSignal, own));
    }
  }

  /** Takes in what the last look brought. */
  private note(found: DisruptionsFound): void {
    this.found = { ...found, at: new Date(workflowNow()).toISOString() };
    if (found.details !== undefined) {
      this.details = found.details;
      if (found.details.decisions.length > 0) this.decisions = found.details.decisions;
    }
    for (const { nodePool, why } of found.chains ?? []) {
      const scope: PauseScope = { kind: 'nodePool', name: nodePool, reason: 'Underutilized' };
      this.pause(() => this.pauses.add({ scope, reason: why, actor: 'stowage', until: workflowNow() + chainPauseMs }));
    }
  }

  private finish(finished: DisruptionFinished): void {
    const { workflowId } = finished;
    this.steering.end(workflowId);
    const ended = this.running.filter((one) => one.slot === undefined && one.workflowId === workflowId);
    this.running = this.running.filter((one) => !ended.includes(one));
    const candidates = ended.flatMap((one) => one.candidates);
    this.memory = remember(this.memory, finished, candidates, workflowNow());
    this.changed = true;
  }

  private resume(scope: PauseScope): readonly Pause[] {
    const { kind, name } = scope;
    if (kind === 'nodePool' && name !== undefined) this.memory = forgetChains(this.memory, name);
    return this.pause(() => this.pauses.remove(scope));
  }

  private pause(change: () => void): readonly Pause[] {
    change();
    this.changed = true;
    this.afterPauseChange();
    return this.pauses.all;
  }

  private afterPauseChange(): void {
    this.progress.attributes([{ key: searchAttributes.paused, value: this.pauses.all.length > 0 }]);
    for (const { workflowId, reason, candidates } of this.running) {
      const hold = this.pauses.holding(reason, candidates) !== undefined;
      void tell(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  /** NodePools of the last look; undefined before the first one, and where there are more than it told of. */
  private knownPools(): ReadonlySet<string> | undefined {
    const { details } = this;
    if (details === undefined || details.budgetsCut === true) return undefined;
    return new Set(details.budgets.map(({ nodePool }) => nodePool));
  }

  private whyNot(node: string): NodeVerdict {
    const at = this.found?.at ?? new Date(workflowNow()).toISOString();
    const running = this.running.find(({ candidates }) => candidates.some((one) => one.node === node));
    if (running !== undefined) {
      return { node, verdict: 'going', why: `${running.reason}: ${running.workflowId}`, at };
    }
    const stays = this.details?.stays.find(({ nodes }) => nodes.includes(node));
    if (stays !== undefined) return { node, verdict: 'stays', why: stays.why, at };
    return { node, verdict: 'unknown', why: 'the last look kept no word of it: ask by update to look anew', at };
  }

  private nextWindow(): NextWindow {
    const next = [...(this.details?.budgets ?? [])]
      .filter(({ allowed, changesAt }) => allowed === 0 && changesAt !== undefined)
      .sort((a, b) => compareText(a.changesAt!, b.changesAt!))
      .at(0);
    if (next === undefined) return { why: 'nothing that is closed is known to open by itself' };
    const { nodePool, reason, changesAt, ruledBy } = next;
    return { at: changesAt!, nodePool, reason, why: `${ruledBy ?? 'a budget'} changes then` };
  }

  private lastPlan(): DisruptionPlan | undefined {
    if (this.found === undefined) return undefined;
    const { at, held } = this.found;
    return { at, decisions: this.decisions, held };
  }
}

/** What lists of workflows show besides. */
function memoOf(candidates: readonly Candidate[], decision: Decision): Record<string, unknown> {
  const { method, priceBefore, priceAfter, podCount, replacements } = decision;
  return {
    method,
    nodes: candidates.slice(0, 20).map(({ node }) => node),
    replacements: replacements.slice(0, 20).map(({ cheapest }) => cheapest.instanceType),
    podsMoved: podCount,
    pricePerHourBefore: priceBefore,
    pricePerHourAfter: priceAfter,
  };
}
