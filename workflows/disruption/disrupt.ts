import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { DisruptionRecords, DisruptionsFound, DisruptionView } from '../../activities/disruption/contract.js';
import { workflowNow } from '../clock.js';
import type {
  DisruptInput,
  DisruptionFinished,
  DisruptState,
  NodeMemory,
  NodeVerdict,
  Pause,
  PauseScope,
  ReconsiderOrder,
  Refused,
  SlotRequest,
} from '../messages.js';
import { budgetsQuery, capacityQuery, clusterChangedSignal, disruptionFinishedSignal } from '../messages.js';
import { disruptionPlanQuery, nextWindowQuery, nominatedSignal } from '../messages.js';
import { pausesChangedSignal, pausesQuery, pauseSignal, pauseUpdate, questionsQuery } from '../messages.js';
import {
  reconsiderSignal,
  reconsiderUpdate,
  refusedQuery,
  resumeSignal,
  resumeUpdate,
  staysQuery,
} from '../messages.js';
import { runningQuery, searchAttributes, slotRequestSignal, slotReturnedSignal, steerSignal } from '../messages.js';
import { whyNotQuery, whyNotUpdate } from '../messages.js';
import { earlySignalsTaken } from '../early-signals.js';
import { HistoryFull, orGiveUp, roundsUntilLong } from '../history-limit.js';
import { FailedSteps } from '../failed-steps.js';
import { forgetChains, remember } from './command-memory.js';
import { checkText, handleOrder } from '../people/orders.js';
import { Nominations } from './nominations.js';
import { Questions } from './questions.js';
import { PauseObjects } from '../people/pause-objects.js';
import { Pauses } from '../people/pauses.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { Outbox } from '../other-workflows.js';
import { SlotRequests } from './slot-requests.js';
import { Steering } from './steering.js';
import { Watchdog } from '../watchdog.js';
import { settleInTurn } from '../../core/settle-all.js';
import { setQueryHandler, setSignalHandler, setUpdateHandler } from '../handlers.js';
import { SlotGrants } from './slot-grants.js';
import { Commands } from './commands.js';
import { LastFindings } from './last-findings.js';
import { DisruptionSignals } from './disruption-signals.js';
import { RunningDisruptions } from './running-disruptions.js';

/** A rollout of a Deployment causes many changes at once: wait for them to settle, then look once. */
const settleMs = 1000;
/** The operator signals changes; this poll finds changes whose signal was lost. */
const slowPollMs = 5 * 60_000;
/** How often nodes are searched for taints whose workflow is gone. */
const strayCheckMs = 60_000;
/** Timeout of the activity that looks for commands. It waits for a packing thread, and searches for up to three minutes. */
const passTimeout = '10 minutes';
const unknownCommand = { reason: 'Underutilized', candidates: [] } as const;
const undecidedFact = 'nothing decided since';
/** How long a NodePool is paused whose pods were moved too often in a row. */
const chainPauseMs = 24 * 3_600_000;

/**
 * The only workflow that counts disruptions against budgets (budgets/every-disruption-asks). It decides which nodes to disrupt
 * and starts one `consolidate` per command, and grants slots to all other voluntary disruptions. A disruption counts until it has
 * reported its end. Pauses are kept here, and passed on to running disruptions.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  await earlySignalsTaken();
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
  private readonly slotRequests: SlotRequests;
  private readonly questions: Questions;
  private readonly nominations: Nominations;
  private readonly running: RunningDisruptions;
  private readonly lastFindings: LastFindings;
  private readonly signals: DisruptionSignals;
  private readonly commands: Commands;
  private readonly slotGrants: SlotGrants;
  private memory: readonly NodeMemory[];
  private changed = true;
  private wakeAt = 0;
  private readonly failed: FailedSteps;
  private readonly watchdog: Watchdog;
  private strayCheckAt = 0;
  /** Whether the records on the NodePools have still to be read (see `takeOver`). */
  private isNew: boolean;

  constructor(input: DisruptInput) {
    const { cluster, carried } = input;
    this.activities = activitiesOf(cluster);
    this.isNew = carried === undefined;
    this.steering = new Steering(this.activities.kube, carried?.steering);
    this.nominations = new Nominations(carried?.nominations);
    this.pauses = new Pauses(carried?.pauses);
    const onChange = (): void => this.afterPauseChange();
    // A pause that cannot be written to Kubernetes is in force all the same: show that only Temporal has it.
    const onUnwritten = (why: string | undefined): void =>
      this.progress.say('pauses that Kubernetes does not have', why);
    this.pauseObjects = new PauseObjects(
      this.activities.kube,
      this.pauses,
      { onChange, onUnwritten },
      carried?.pauseWrites,
    );
    this.running = new RunningDisruptions(carried);
    this.slotRequests = new SlotRequests(carried?.requests);
    this.questions = new Questions(carried?.questions);
    this.lastFindings = new LastFindings(carried?.undecidedSince);
    this.memory = carried?.memory ?? [];
    const { outbox, running, questions, pauses, slotRequests, activities } = this;
    this.signals = new DisruptionSignals({ outbox, running, questions, pauses });
    const view = (): DisruptionView => this.view();
    this.slotGrants = new SlotGrants({
      activities,
      slotRequests,
      running,
      questions,
      pauses,
      view,
      timeout: passTimeout,
    });
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
    const { progress } = this;
    const onFreed = (): void => void (this.changed = true);
    this.commands = new Commands({ cluster, progress, running, questions, pauses, onFreed });
    this.failed = new FailedSteps(this.progress);
    this.watchdog = new Watchdog(this.progress);
    this.handleOrders();
  }

  get isIdle(): boolean {
    return allHandlersFinished() && !this.steering.isBusy && !this.pauseObjects.isBusy && this.outbox.isEmpty;
  }

  state(): DisruptState {
    const { memory } = this;
    const { all: running, past: pastDisruptions } = this.running;
    const steering = this.steering.state;
    const questions = this.questions.state;
    const pauseWrites = this.pauseObjects.state;
    const { undecidedSince } = this.lastFindings;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running,
      requests: this.slotRequests.waiting,
      pastDisruptions,
      memory,
      ...(steering === undefined ? {} : { steering }),
      ...(questions === undefined ? {} : { questions }),
      ...(pauseWrites === undefined ? {} : { pauseWrites }),
      ...(undecidedSince === undefined ? {} : { undecidedSince }),
    };
  }

  /** Reads the DisruptionPauses before the first decision. */
  async readPauses(): Promise<void> {
    for (let isRead = false; !isRead;) {
      try {
        await this.pauseObjects.sync();
        isRead = true;
      } catch (error) {
        await this.failed.backOff('reading what is paused', error);
      }
    }
    this.failed.succeeded();
  }

  /** Forgets disruptions whose workflow is gone without a report, as after a person terminated it. */
  private async forgetEnded(): Promise<void> {
    const before = this.running.all.length;
    await this.signals.pingOld((workflowId) => {
      this.running.end(workflowId);
      this.questions.end(workflowId);
      this.steering.end(workflowId);
    });
    if (this.running.all.length < before) this.strayCheckAt = 0;
  }

  /** Removes taints whose workflow is gone, and adopts workflows that hold taints and are not known. */
  private async releaseStrays(): Promise<void> {
    this.strayCheckAt = workflowNow() + strayCheckMs;
    const isSteering = this.steering.state !== undefined;
    const running = this.running.all;
    const { owners = [] } = await orGiveUp(() =>
      this.activities.kube.releaseStrays({ running, ...(isSteering ? { isSteering } : {}) }),
    );
    const asking = this.slotRequests.waiting.map(({ workflowId }) => workflowId);
    // A `disrupt` before this one may have told them an older state of the pauses.
    this.signals.hold(this.running.adopt(owners, { asking, now: workflowNow() }));
  }

  /** One round: waits for a change, then grants slots, looks for commands and starts them. */
  async pass(): Promise<undefined> {
    await this.awaitChange();
    try {
      await this.watchdog.over(() => this.look());
      this.failed.succeeded();
    } catch (error) {
      this.changed = true;
      if (error instanceof HistoryFull) throw error;
      await this.failed.backOff('a look at the cluster', error);
    }
  }

  private async look(): Promise<void> {
    const { watchdog } = this;
    watchdog.enter('checking which disruptions still run');
    await this.forgetEnded();
    watchdog.enter('removing taints of disruptions that are over');
    if (workflowNow() >= this.strayCheckAt) await this.releaseStrays();
    watchdog.enter('deciding about slots');
    const slotsCheckAt = await this.slotGrants.decide();
    watchdog.enter('deciding what may go');
    const look = { summary: 'what may go?', startToCloseTimeout: passTimeout };
    const found = await orGiveUp(() => this.activities.kube.findDisruptions.executeWithOptions(look, [this.view()]));
    this.note(found);
    watchdog.enter('starting what was decided');
    for (const { workflowId, why, isSuperseded } of found.moot ?? []) {
      await this.commands.withdraw(workflowId, why, isSuperseded === true);
    }
    // One command that cannot be started does not stop the others; the next round tries it again.
    await settleInTurn(found.commands, (command) => this.commands.start(command));
    // The next method has still to look (candidates/methods-in-order).
    if (found.again === true) this.changed = true;
    this.wakeAt = Math.min(
      found.nextCheckAt ?? Number.POSITIVE_INFINITY,
      slotsCheckAt,
      workflowNow() + slowPollMs,
      // Nothing else says that the owner of a taint is closed (candidates/left-over-taints).
      this.running.hasAdopted ? this.strayCheckAt : Number.POSITIVE_INFINITY,
      this.pauses.nextEnd(),
      this.questions.nextEnd(),
    );
    this.progress.note({
      running: this.running.all.length,
      held: found.held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
      ...(this.slotRequests.waiting.length === 0 ? {} : { 'slots waited for': this.slotRequests.waiting.length }),
      ...(this.questions.open.length === 0 ? {} : { 'waiting for approval': this.questions.open.length }),
    });
  }

  private listen(): void {
    setSignalHandler(clusterChangedSignal, () => void (this.changed = true));
    setSignalHandler(pausesChangedSignal, () => this.pauseObjects.notify());
    setSignalHandler(nominatedSignal, (nodes) => {
      this.nominations.take(nodes);
      this.signals.nominated(nodes);
    });
    setSignalHandler(disruptionFinishedSignal, (finished) => this.finish(finished));
    setSignalHandler(steerSignal, (command) => this.steering.begin(command));
    setSignalHandler(slotRequestSignal, (request) => this.takeRequest(request));
    setSignalHandler(slotReturnedSignal, ({ id, nodes }) => {
      this.slotRequests.withdraw(id, nodes);
      this.running.answersFor(id.split('#')[0]!);
      this.running.returned(id, nodes);
      this.changed = true;
    });
  }

  private takeRequest(request: SlotRequest): void {
    this.slotRequests.take(request);
    this.running.answersFor(request.workflowId);
    this.changed = true;
  }

  /** Called last in the constructor: an order may already be waiting, and it needs `progress`. */
  private handleOrders(): void {
    const { progress, pauses, questions } = this;
    handleOrder(progress, {
      ...{ signal: pauseSignal, update: pauseUpdate },
      check: (order) => pauses.checkPause(order, this.lastFindings.pools),
      act: (order) => this.pause(() => pauses.add(order)),
    });
    handleOrder(progress, {
      ...{ signal: resumeSignal, update: resumeUpdate },
      check: (order) => pauses.checkResume(order),
      act: ({ scope }) => this.resume(scope),
    });
    handleOrder(progress, {
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
    setQueryHandler(whyNotQuery, (node) =>
      this.lastFindings.verdict(node, { running: this.running.all, waiting: this.questions.waiting }),
    );
    setQueryHandler(pausesQuery, () => this.pauses.all);
    setQueryHandler(runningQuery, () => this.running.all);
    setQueryHandler(questionsQuery, () => this.questions.open);
    setQueryHandler(refusedQuery, () => this.questions.refused);
    setQueryHandler(budgetsQuery, () => this.lastFindings.budgets);
    setQueryHandler(capacityQuery, () => this.lastFindings.capacity);
    setQueryHandler(staysQuery, () => this.lastFindings.stays);
    setQueryHandler(nextWindowQuery, () => this.lastFindings.nextWindow);
    setQueryHandler(disruptionPlanQuery, () => this.lastFindings.plan);
  }

  private async awaitChange(): Promise<void> {
    if (!this.changed) {
      this.progress.enter('watching', { waitingFor: 'the cluster to change', until: this.wakeAt });
      const wait = Math.max(settleMs, this.wakeAt - workflowNow());
      await condition(() => this.changed, wait, { summary: 'next budget window or look' });
    }
    this.changed = false;
    // So that a hundred signals of one Deployment cause one look.
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
    const { memory } = this;
    const { all: running, past: pastDisruptions } = this.running;
    const { open, refused } = this.questions;
    const { knownDetails } = this.lastFindings;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running,
      ...(open.length === 0 ? {} : { questions: open }),
      ...(refused.length === 0 ? {} : { refused }),
      ...(pastDisruptions.length === 0 ? {} : { pastDisruptions }),
      ...(memory.length === 0 ? {} : { memory }),
      ...(knownDetails === undefined ? {} : { knownDetails }),
      ...(this.isNew ? { isNew: true } : {}),
    };
  }

  /** Takes in what the last look found. */
  private note(found: DisruptionsFound): void {
    if (found.recorded !== undefined && this.isNew) this.takeOver(found.recorded);
    this.progress.say(undecidedFact, this.lastFindings.note(found));
    for (const { nodePool, why } of found.chains ?? []) {
      const scope: PauseScope = { kind: 'nodePool', name: nodePool, reason: 'Underutilized' };
      this.pause(() => this.pauses.add({ scope, reason: why, actor: 'stowage', until: workflowNow() + chainPauseMs }));
    }
  }

  /** Takes over the records on the NodePools, which a `disrupt` before this one wrote (budgets/records). */
  private takeOver({ pastDisruptions, refused }: DisruptionRecords): void {
    this.isNew = false;
    this.running.remember(pastDisruptions);
    this.questions.remember(refused);
  }

  private finish(finished: DisruptionFinished): void {
    const { workflowId } = finished;
    this.steering.end(workflowId);
    const question = this.questions.find(workflowId);
    const [ended = question] = this.running.all.filter(
      (one) => one.slot === undefined && one.workflowId === workflowId,
    );
    this.running.end(workflowId);
    this.questions.end(workflowId);
    this.slotRequests.withdrawAll(workflowId);
    this.changed = true;
    if (question?.isSuperseded === true) return;
    const now = workflowNow();
    if (ended !== undefined && this.questions.refuse(finished, ended, now)) return;
    // The state may have been lost since the disruption began; its targets are remembered all the same.
    this.memory = remember(this.memory, finished, ended ?? unknownCommand, now);
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
    this.signals.hold();
  }
}
