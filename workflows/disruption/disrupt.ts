import { allHandlersFinished, condition, continueAsNew, getExternalWorkflowHandle } from '@temporalio/workflow';
import type {
  DisruptionCommand,
  DisruptionDetails,
  DisruptionRecords,
  DisruptionsFound,
  DisruptionView,
} from '../../activities/disruption/contract.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { recordDisruption } from '../disruption/past-disruptions.js';
import type {
  DecisionSummary,
  PastDisruption,
  DisruptInput,
  DisruptionFinished,
  DisruptState,
  GoingNode,
  NodeUntil,
  NodeMemory,
  NodeVerdict,
  Pause,
  PauseScope,
  ReconsiderOrder,
  Refused,
  RunningDisruption,
  SlotDecision,
  SlotRequest,
} from '../messages.js';
import { budgetsQuery, capacityQuery, clusterChangedSignal, disruptionFinishedSignal } from '../messages.js';
import { disruptionPlanQuery, holdSignal, nextWindowQuery, nominatedSignal } from '../messages.js';
import { pausesChangedSignal, pausesQuery, pauseSignal, pauseUpdate, questionsQuery } from '../messages.js';
import { reconsiderSignal, reconsiderUpdate, refusedQuery, resumeSignal, resumeUpdate } from '../messages.js';
import { runningQuery, searchAttributes, slotRequestSignal, slotReturnedSignal, steerSignal } from '../messages.js';
import { whyNotQuery, whyNotUpdate, withdrawSignal } from '../messages.js';
import { HistoryFull, orGiveUp, roundsUntilLong } from '../history-limit.js';
import { FailedSteps } from '../failed-steps.js';
import { withAdopted, withoutAdopted } from './adoption.js';
import { startCommand } from './command-start.js';
import { nextWindowOf, planOf, poolsOf, verdictOf } from './disrupt-answers.js';
import { forgetChains, remember } from './command-memory.js';
import { summaryOf } from './command-text.js';
import { checkText, takeOrder } from '../people/orders.js';
import { Nominations } from './nominations.js';
import { Questions } from './questions.js';
import { PauseObjects } from '../people/pause-objects.js';
import { Pauses } from '../people/pauses.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { isStartedAlready, Outbox, notify } from '../relations.js';
import { SlotBook, withoutSlot } from './slot-book.js';
import { Steering } from '../consolidation/steering.js';
import { UndecidedWatch } from './undecided.js';
import { Watchdog } from '../watchdog.js';
import { counted } from '../../core/plurals.js';
import { settleInTurn } from '../../core/settle-all.js';
import { setQueryHandler, setSignalHandler, setUpdateHandler } from '../handlers.js';

/** Changes come in flocks: look once for all of them. */
const settleMs = 1000;
/** Signals tell of changes and windows; this poll is for what neither told. */
const slowPollMs = 5 * 60_000;
/** Tainted nodes are gone through this often, at a look. */
const strayCheckMs = 60_000;
/** What runs for long is asked now and then whether it is still there: it counts against budgets. */
const askedEveryMs = 3_600_000;
/** A look packs: it may wait for its turn, and searches for three minutes at most. */
const lookTimeout = '10 minutes';
const unknownCommand = { reason: 'Underutilized', candidates: [] } as const;
const undecidedFact = 'nothing decided since';
/** For how long a chain of moves pauses a NodePool. */
const chainPauseMs = 24 * 3_600_000;

/**
 * The single writer of disruption budgets (budgets/every-disruption-asks): decides which nodes may go now and starts one
 * `consolidate` for each decision; gives slots to every other voluntary disruption. What runs counts until it has
 * reported its end. Pauses live here and reach running ones.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  await run.readPauses();
  void run.pauseObjects.follow();
  void run.steering.follow();
  await roundsUntilLong({ round: () => run.pass(), isIdle: () => run.isIdle });
  return continueAsNew<typeof disrupt>({ ...input, carried: run.state() });
}

class DisruptRun {
  readonly steering: Steering;
  readonly pauseObjects: PauseObjects;
  readonly outbox = new Outbox();
  private readonly activities;
  private readonly progress: Progress;
  private readonly pauses: Pauses;
  private readonly book: SlotBook;
  private readonly questions: Questions;
  private readonly nominations: Nominations;
  private readonly undecided: UndecidedWatch;
  private running: readonly RunningDisruption[];
  private pastDisruptions: readonly PastDisruption[];
  private readonly askedAt = new Map<string, number>();
  private memory: readonly NodeMemory[];
  private found: (DisruptionsFound & { readonly at: string }) | undefined;
  private details: DisruptionDetails | undefined;
  private decisions: readonly DecisionSummary[] = [];
  private changed = true;
  private wakeAt = 0;
  private readonly failed: FailedSteps;
  private readonly watchdog: Watchdog;
  private strayCheckAt = 0;
  /** Whether what NodePools keep for it has yet to be taken over. */
  private isNew: boolean;

  constructor(private readonly input: DisruptInput) {
    const { cluster, carried } = input;
    this.activities = activitiesOf(cluster);
    this.isNew = carried === undefined;
    this.steering = new Steering(this.activities.kube, carried?.steering);
    this.nominations = new Nominations(carried?.nominations);
    this.pauses = new Pauses(carried?.pauses);
    const onChange = (): void => this.afterPauseChange();
    // What Kubernetes does not take holds all the same: people are told that it is in Temporal alone.
    const onUnwritten = (why: string | undefined): void =>
      this.progress.say('pauses that Kubernetes does not have', why);
    this.pauseObjects = new PauseObjects(
      this.activities.kube,
      this.pauses,
      { onChange, onUnwritten },
      carried?.pauseWrites,
    );
    this.running = carried?.running ?? [];
    this.book = new SlotBook(carried?.requests);
    this.questions = new Questions(carried?.questions);
    this.undecided = new UndecidedWatch(carried?.undecidedSince);
    this.pastDisruptions = carried?.pastDisruptions ?? [];
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
    this.failed = new FailedSteps(this.progress);
    this.watchdog = new Watchdog(this.progress);
    this.obeyPeople();
  }

  get isIdle(): boolean {
    return allHandlersFinished() && !this.steering.isBusy && !this.pauseObjects.isBusy && this.outbox.isEmpty;
  }

  state(): DisruptState {
    const { running, pastDisruptions, memory } = this;
    const steering = this.steering.state;
    const questions = this.questions.state;
    const pauseWrites = this.pauseObjects.state;
    const undecidedSince = this.undecided.state;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running,
      requests: this.book.waiting,
      pastDisruptions,
      memory,
      ...(steering === undefined ? {} : { steering }),
      ...(questions === undefined ? {} : { questions }),
      ...(pauseWrites === undefined ? {} : { pauseWrites }),
      ...(undecidedSince === undefined ? {} : { undecidedSince }),
    };
  }

  /** Nothing is decided before it is known what is paused. */
  async readPauses(): Promise<void> {
    for (let isRead = false; !isRead;) {
      try {
        await this.pauseObjects.sync();
        isRead = true;
      } catch (error) {
        await this.failed.rest('reading what is paused', error);
      }
    }
    this.failed.succeeded();
  }

  /** Nodes that nobody takes any more, as after a workflow was terminated by hand. */
  private async releaseStrays(): Promise<void> {
    this.strayCheckAt = workflowNow() + strayCheckMs;
    const isSteering = this.steering.state !== undefined;
    const { running } = this;
    const { owners = [] } = await orGiveUp(() =>
      this.activities.kube.releaseStrays({ running, ...(isSteering ? { isSteering } : {}) }),
    );
    const before = new Set(this.running.map(({ workflowId }) => workflowId));
    const asking = this.book.waiting.map(({ workflowId }) => workflowId);
    this.running = withAdopted(this.running, owners, { asking, now: workflowNow() });
    // What is paused they may have heard of somebody before.
    this.tellHold(this.running.filter(({ workflowId }) => !before.has(workflowId)));
  }

  /** Waits for a change, lets go who may go, looks for what else may, and starts it. */
  async pass(): Promise<undefined> {
    await this.awaitChange();
    try {
      await this.watchdog.over(() => this.look());
      this.failed.succeeded();
    } catch (error) {
      this.changed = true;
      if (error instanceof HistoryFull) throw error;
      await this.failed.rest('a look at the cluster', error);
    }
  }

  private async look(): Promise<void> {
    const { watchdog } = this;
    watchdog.enter('checking which disruptions still run');
    await this.askOldOnes();
    watchdog.enter('removing taints of disruptions that are over');
    if (workflowNow() >= this.strayCheckAt) await this.releaseStrays();
    watchdog.enter('deciding about slots');
    const slotsCheckAt = await this.admit();
    watchdog.enter('deciding what may go');
    const look = { summary: 'what may go?', startToCloseTimeout: lookTimeout };
    const found = await orGiveUp(() => this.activities.kube.findDisruptions.executeWithOptions(look, [this.view()]));
    this.note(found);
    watchdog.enter('starting what was decided');
    for (const { workflowId, why, isSuperseded } of found.moot ?? []) {
      await this.withdraw(workflowId, why, isSuperseded === true);
    }
    // One that cannot be started keeps no other from it; the look is tried again for it.
    await settleInTurn(found.commands, (command) => this.start(command));
    // What one method did not find another may (candidates/methods-in-order).
    if (found.again === true) this.changed = true;
    this.wakeAt = Math.min(
      found.nextCheckAt ?? Number.POSITIVE_INFINITY,
      slotsCheckAt,
      workflowNow() + slowPollMs,
      this.pauses.nextEnd(),
      this.questions.nextEnd(),
    );
    this.progress.note({
      running: this.running.length,
      held: found.held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
      ...(this.book.waiting.length === 0 ? {} : { 'slots waited for': this.book.waiting.length }),
      ...(this.questions.open.length === 0 ? {} : { 'waiting for approval': this.questions.open.length }),
    });
  }

  private listen(): void {
    setSignalHandler(clusterChangedSignal, () => void (this.changed = true));
    setSignalHandler(pausesChangedSignal, () => this.pauseObjects.notify());
    setSignalHandler(nominatedSignal, (nodes) => this.nominate(nodes));
    setSignalHandler(disruptionFinishedSignal, (finished) => this.finish(finished));
    setSignalHandler(steerSignal, (command) => this.steering.begin(command));
    setSignalHandler(slotRequestSignal, (request) => this.takeRequest(request));
    setSignalHandler(slotReturnedSignal, ({ id, nodes }) => {
      this.book.withdraw(id, nodes);
      this.running = withoutSlot(withoutAdopted(this.running, id.split('#')[0]!), id, nodes);
      this.changed = true;
    });
  }

  private takeRequest(request: SlotRequest): void {
    this.book.take(request);
    this.running = withoutAdopted(this.running, request.workflowId);
    this.changed = true;
  }

  /** Orders change what `progress` shows: one may be there before the first step. */
  private obeyPeople(): void {
    const { progress, pauses, questions } = this;
    takeOrder(progress, {
      ...{ signal: pauseSignal, update: pauseUpdate },
      check: (order) => pauses.checkPause(order, poolsOf(this.details)),
      act: (order) => this.pause(() => pauses.add(order)),
    });
    takeOrder(progress, {
      ...{ signal: resumeSignal, update: resumeUpdate },
      check: (order) => pauses.checkResume(order),
      act: ({ scope }) => this.resume(scope),
    });
    takeOrder(progress, {
      ...{ signal: reconsiderSignal, update: reconsiderUpdate },
      check: (order) => questions.checkReconsider(order),
      act: (order) => this.reconsider(order),
    });
  }

  private answer(): void {
    const explained = (node: string): Promise<NodeVerdict> =>
      this.activities.kube.explainNode.executeWithOptions({ summary: `why not ${node}?` }, [
        { node, view: this.view() },
      ]);
    setUpdateHandler(whyNotUpdate, explained, (node) => checkText('node', node));
    setQueryHandler(whyNotQuery, (node) => this.whyNot(node));
    setQueryHandler(pausesQuery, () => this.pauses.all);
    setQueryHandler(runningQuery, () => this.running);
    setQueryHandler(questionsQuery, () => this.questions.open);
    setQueryHandler(refusedQuery, () => this.questions.refused);
    setQueryHandler(budgetsQuery, () => this.details?.budgets ?? []);
    setQueryHandler(capacityQuery, () => this.details?.capacity ?? []);
    setQueryHandler(nextWindowQuery, () => nextWindowOf(this.details?.budgets ?? []));
    setQueryHandler(disruptionPlanQuery, () => planOf(this.found, this.decisions, this.undecided.told));
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
    this.nominations.expire(now);
    if (this.pauses.expire(now)) {
      this.pauseObjects.notify();
      this.afterPauseChange();
    }
    this.questions.expire(now);
    const { running, pastDisruptions, memory } = this;
    const { open, refused } = this.questions;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running,
      ...(open.length === 0 ? {} : { questions: open }),
      ...(refused.length === 0 ? {} : { refused }),
      ...(pastDisruptions.length === 0 ? {} : { pastDisruptions }),
      ...(memory.length === 0 ? {} : { memory }),
      ...(this.details === undefined ? {} : { knownDetails: this.details.hash }),
      ...(this.isNew ? { isNew: true } : {}),
    };
  }

  /** Whoever does not take a signal any more is over: it counts no longer, and nothing may tell of it. */
  private async askOldOnes(): Promise<void> {
    const now = workflowNow();
    const before = this.running.length;
    for (const one of [...this.running, ...this.waiting()]) {
      const { workflowId, reason, candidates } = one;
      if (now - (this.askedAt.get(workflowId) ?? one.since) < askedEveryMs) continue;
      this.askedAt.set(workflowId, now);
      const held = this.pauses.holding(reason, candidates) !== undefined;
      if (await notify(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, held))) continue;
      this.running = this.running.filter((other) => other.workflowId !== workflowId);
      this.questions.end(workflowId);
      this.askedAt.delete(workflowId);
      this.steering.end(workflowId);
    }
    if (this.running.length < before) this.strayCheckAt = 0;
  }

  /** Decides about the slots that wait. Gives when to look again, milliseconds of the epoch. */
  private async admit(): Promise<number> {
    for (const request of this.book.waiting) this.book.grant(request.id, this.grantedTo(request.id));
    let checkAt = Number.POSITIVE_INFINITY;
    for (const portion of this.book.portions()) {
      const requests = portion.map(({ id, reason, candidates, together }) => ({
        ...{ id, reason, candidates },
        ...(together === true ? { together } : {}),
      }));
      const summary = `slots for ${counted(requests.length, 'request')}`;
      const { decisions } = await orGiveUp(() =>
        this.activities.kube.decideSlots.executeWithOptions({ summary, startToCloseTimeout: lookTimeout }, [
          { view: this.view(), requests },
        ]),
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
    const free = decision.granted.filter(
      (one) => wanted.has(one.claim.uid) && this.pauses.holding(reason, [one]) === undefined,
    );
    const granted = request.together === true && free.length < request.candidates.length ? [] : free;
    if (granted.length > 0) {
      // It was decided here, and is under way from now on.
      const { heeds, saves } = this.questions.find(workflowId) ?? {};
      const known = { ...(heeds === undefined ? {} : { heeds }), ...(saves === undefined ? {} : { saves }) };
      this.running = [...this.running, { workflowId, reason, candidates: granted, since: now, slot: id, ...known }];
      this.questions.granted(workflowId);
      this.pastDisruptions = recordDisruption(this.pastDisruptions, reason, granted, now);
      this.book.grant(id, granted);
    }
    const heard = await this.book.notify(request, { ...decision, granted: this.grantedTo(id) });
    if (heard) return;
    this.book.withdraw(id, undefined);
    this.running = withoutSlot(this.running, id, undefined);
  }

  private grantedTo(id: string): readonly GoingNode[] {
    return this.running.flatMap(({ slot, candidates }) => (slot === id ? candidates : []));
  }

  private async start(command: DisruptionCommand): Promise<void> {
    const { reason, candidates, decision } = command;
    const { cluster } = this.input;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    const going = candidates.map(({ claim, node, nodePool }): GoingNode => ({ claim, node, nodePool }));
    const others = this.questions.about(going);
    if (others.length > 0) {
      for (const other of others) await this.withdraw(other.workflowId, `${reason}: decided anew`, true);
      return;
    }
    const since = workflowNow();
    const known = decision === undefined ? {} : { heeds: true, saves: decision.priceBefore - decision.priceAfter };
    const begun: RunningDisruption = { workflowId, reason, candidates: going, since, ...known };
    const past = this.pastDisruptions;
    // Whoever waits for a person takes no slot meanwhile.
    if (decision?.approval !== undefined) this.questions.ask(begun);
    else {
      this.running = [...this.running, begun];
      this.pastDisruptions = recordDisruption(this.pastDisruptions, reason, going, since);
    }
    const summary = summaryOf(reason, candidates, decision);
    this.progress.enter('starting', { facts: { 'last decision': summary } });
    try {
      await startCommand(command, {
        cluster,
        workflowId,
        paused: this.pauses.holding(reason, candidates) !== undefined,
      });
    } catch (error) {
      if (isStartedAlready(error)) return;
      // It does not run: what it was to take, and what it was to ask, counts no longer.
      this.running = this.running.filter((one) => one !== begun);
      if (decision?.approval !== undefined) this.questions.end(workflowId);
      this.pastDisruptions = past;
      throw error;
    }
  }

  private nominate(nodes: readonly NodeUntil[]): void {
    this.nominations.take(nodes);
    // A decision that has not been validated yet is not to overlook it (commands/validation).
    for (const { workflowId, candidates, heeds } of [...this.running, ...this.waiting()]) {
      const own = nodes.filter(({ node }) => candidates.some((one) => one.node === node));
      if (heeds !== true || own.length === 0) continue;
      this.outbox.send(() => getExternalWorkflowHandle(workflowId).signal(nominatedSignal, own));
    }
  }

  /** Takes in what the last look brought. */
  private note(found: DisruptionsFound): void {
    this.found = { ...found, at: new Date(workflowNow()).toISOString() };
    if (found.recorded !== undefined && this.isNew) this.takeOver(found.recorded);
    if (found.details !== undefined) {
      this.details = found.details;
      if (found.details.decisions.length > 0) this.decisions = found.details.decisions;
    }
    const undecided = this.undecided.look(found, this.details?.stays ?? [], workflowNow());
    this.progress.say(undecidedFact, undecided && `${undecided.since}, for ${undecided.waitsFor}`);
    for (const { nodePool, why } of found.chains ?? []) {
      const scope: PauseScope = { kind: 'nodePool', name: nodePool, reason: 'Underutilized' };
      this.pause(() => this.pauses.add({ scope, reason: why, actor: 'stowage', until: workflowNow() + chainPauseMs }));
    }
  }

  /** What the NodePools kept when a `disrupt` before this one was lost (budgets/records). */
  private takeOver({ pastDisruptions, refused }: DisruptionRecords): void {
    this.isNew = false;
    this.pastDisruptions = [...pastDisruptions, ...this.pastDisruptions];
    this.questions.remember(refused);
  }

  private finish(finished: DisruptionFinished): void {
    const { workflowId } = finished;
    this.steering.end(workflowId);
    const question = this.questions.find(workflowId);
    const [ended = question] = this.running.filter((one) => one.slot === undefined && one.workflowId === workflowId);
    this.running = this.running.filter((one) => one.workflowId !== workflowId);
    this.questions.end(workflowId);
    this.book.withdrawAll(workflowId);
    this.changed = true;
    if (question?.isSuperseded === true) return;
    const now = workflowNow();
    if (ended !== undefined && this.questions.refuse(finished, ended, now)) return;
    // Of one that is not known any more, as after its memory was lost, the targets are still news.
    this.memory = remember(this.memory, finished, ended ?? unknownCommand, now);
  }

  /** Commands that wait for consent, or for a slot after it. */
  private waiting(): readonly RunningDisruption[] {
    return this.questions.open.filter(({ isGranted }) => isGranted !== true);
  }

  /** The question makes no sense any more: its workflow ends, and says so. */
  private async withdraw(workflowId: string, why: string, isSuperseded: boolean): Promise<void> {
    const question = this.questions.find(workflowId);
    if (question === undefined || question.withdrawn !== undefined) return;
    this.questions.withdrawn(workflowId, why, isSuperseded);
    if (await notify(() => getExternalWorkflowHandle(workflowId).signal(withdrawSignal, { why }))) return;
    this.questions.end(workflowId);
    this.changed = true;
  }

  private reconsider(order: ReconsiderOrder): readonly Refused[] {
    this.changed = true;
    return this.questions.reconsider(order);
  }

  private resume(scope: PauseScope): readonly Pause[] {
    const { kind, name } = scope;
    if (kind === 'nodePool' && name !== undefined) this.memory = forgetChains(this.memory, name);
    return this.pause(() => this.pauses.remove(scope));
  }

  private pause(change: () => void): readonly Pause[] {
    const before = this.pauses.all;
    change();
    this.pauseObjects.write(before);
    this.afterPauseChange();
    return this.pauses.all;
  }

  private afterPauseChange(): void {
    this.changed = true;
    this.progress.attributes([{ key: searchAttributes.paused, value: this.pauses.all.length > 0 }]);
    this.tellHold([...this.running, ...this.waiting()]);
  }

  private tellHold(disruptions: readonly RunningDisruption[]): void {
    for (const { workflowId, reason, candidates } of disruptions) {
      const hold = this.pauses.holding(reason, candidates) !== undefined;
      this.outbox.send(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  private whyNot(node: string): NodeVerdict {
    const { running, details, found } = this;
    return verdictOf(node, { running, waiting: this.waiting(), stays: details?.stays ?? [], at: found?.at });
  }
}
