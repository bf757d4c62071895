import { allHandlersFinished, patched } from '@temporalio/workflow';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import type { DisruptionsFound } from '../../activities/disruption/contract.js';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowNow } from '../clock.js';
import type { DisruptInput, DisruptState, Pause, PauseOrder, PauseScope } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { earlySignalsDelivered } from '../early-signals.js';
import { Changes } from '../entity/changes.js';
import { runEntity } from '../entity/run-entity.js';
import { untilHistoryFull } from '../history-limit.js';
import { FailedSteps } from '../entity/failed-steps.js';
import { PauseObjects } from '../people/pause-objects.js';
import type { Pauses } from '../people/pauses.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { Outbox } from '../calls/other-workflows.js';
import { WaitingWorkflows } from './waiting-workflows.js';
import { Steering } from './steering.js';
import { Watchdog } from '../entity/watchdog.js';
import { settleInTurn } from '../../core/at-once.js';
import { SlotGrants } from './slot-grants.js';
import { Commands } from './commands.js';
import { handleOrders, handleQueries, handleSignals } from './disrupt-handlers.js';
import { DisruptionSignals } from './disruption-signals.js';
import { KnownState } from './known-state.js';

/** How long changes have to settle before a round. */
const settleMs = 1000;
/** The operator signals changes; this poll finds changes whose signal was lost. */
const slowPollMs = 5 * 60_000;
/** How often to search for disruption taints whose workflow has ended. */
const taintCheckMs = 60_000;
/** Timeout of the activity that searches for commands. It waits for a packing thread, and searches for up to three minutes. */
const passTimeout = '10 minutes';
const undecidedFact = 'no command found since';
/** How long consolidation of a NodePool is paused after its pods were moved too often in a row. */
const chainPauseMs = 24 * 3_600_000;

/**
 * The only workflow that counts disruptions against budgets (budgets/every-disruption-asks). It decides which nodes to disrupt
 * and starts one `consolidate` per command, and grants slots to all other voluntary disruptions. A disruption counts until it has
 * reported its end. It also keeps the pauses and signals them to running disruptions.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  await earlySignalsDelivered();
  await run.readPauses();
  void run.pauseObjects.follow();
  void run.steering.follow();
  return runEntity<typeof disrupt>({
    round: () => run.round(),
    isIdle: () => run.isIdle,
    next: () => [{ ...input, carried: run.state() }],
  });
}

class DisruptRun {
  readonly steering: Steering;
  readonly pauseObjects: PauseObjects;
  private readonly outbox = new Outbox();
  private readonly activities;
  private readonly progress: Progress;
  private readonly known: KnownState;
  private readonly signals: DisruptionSignals;
  private readonly waiting: WaitingWorkflows;
  private readonly commands: Commands;
  private readonly slotGrants: SlotGrants;
  private readonly failed: FailedSteps;
  private readonly watchdog: Watchdog;
  private readonly changes = new Changes(settleMs);
  private wakeAt = 0;
  private taintCheckAt = 0;

  constructor({ cluster, carried }: DisruptInput) {
    const activities = activitiesOf(cluster);
    this.activities = activities;
    const known = new KnownState(carried);
    this.known = known;
    this.steering = new Steering(activities.kube, carried?.steering);
    this.pauseObjects = this.pauseObjectsOf(carried);
    const { outbox, steering, pauseObjects } = this;
    const { running, questions, pauses, slotRequests } = known;
    this.signals = new DisruptionSignals({ cluster, outbox, running, questions, pauses });
    this.waiting = new WaitingWorkflows({ outbox, running, pauses, slotRequests }, carried?.told);
    const view = (): DisruptionView => this.view();
    const onChange = (): void => this.changes.note();
    const grants = { activities, slotRequests, running, questions, pauses, view, timeout: passTimeout } as const;
    this.slotGrants = new SlotGrants(grants);
    handleSignals({ known, signals: this.signals, steering, pauseObjects, onChange });
    handleQueries(known, activities, view);
    this.progress = progressOf(cluster, pauses);
    const { progress } = this;
    this.commands = new Commands({ cluster, progress, running, questions, pauses, onFreed: onChange });
    this.failed = new FailedSteps(progress);
    this.watchdog = new Watchdog(progress);
    const pause = (order: PauseOrder): readonly Pause[] => this.pause(() => pauses.add(order));
    handleOrders({ progress, known, onChange, pause, resume: (scope) => this.resume(scope) });
  }

  get isIdle(): boolean {
    return allHandlersFinished() && !this.steering.isBusy && !this.pauseObjects.isBusy && this.outbox.isEmpty;
  }

  state(): DisruptState {
    const { state: steering } = this.steering;
    const { state: pauseWrites } = this.pauseObjects;
    const { state: told } = this.waiting;
    return {
      ...this.known.carried,
      ...(steering === undefined ? {} : { steering }),
      ...(pauseWrites === undefined ? {} : { pauseWrites }),
      ...(told === undefined ? {} : { told }),
    };
  }

  private pauseObjectsOf(carried: DisruptState | undefined): PauseObjects {
    const onChange = (): void => this.afterPauseChange();
    // A pause that cannot be written to Kubernetes is in force all the same: show that only Temporal has it.
    const onUnwritten = (why: string | undefined): void =>
      this.progress.addFacts({ 'pauses that Kubernetes does not have': why });
    const callbacks = { onChange, onUnwritten };
    return new PauseObjects(this.activities.kube, this.known.pauses, callbacks, carried?.pauseWrites);
  }

  /** Reads the DisruptionPauses before the first decision. */
  async readPauses(): Promise<void> {
    let isRead = false;
    const read = async (): Promise<void> => {
      await this.pauseObjects.sync();
      isRead = true;
    };
    while (!isRead) await this.failed.attempt('reading what is paused', read, () => undefined);
  }

  /** Forgets disruptions whose workflow ended without a signal, for example because a person terminated it. */
  private async forgetEnded(): Promise<void> {
    const { running } = this.known;
    const before = running.all.length;
    await this.signals.pingOld((workflowId) => this.forget(workflowId));
    if (running.all.length < before) this.taintCheckAt = 0;
  }

  private forget(workflowId: string): void {
    this.known.end(workflowId);
    this.steering.end(workflowId);
  }

  /**
   * Removes taints whose workflow has ended, forgets disruptions of such, adopts workflows that own taints and are unknown here, and tells
   * workflows that wait what is known here.
   */
  private async removeLeftOverTaints(): Promise<void> {
    this.taintCheckAt = workflowNow() + taintCheckMs;
    const isSteering = this.steering.state !== undefined;
    const { running, slotRequests } = this.known;
    const {
      released,
      owners = [],
      ended = [],
      held = [],
      holders,
    } = await untilHistoryFull(() =>
      this.activities.kube.releaseStrays({ running: running.all, ...(isSteering ? { isSteering } : {}) }),
    );
    this.waiting.tellHeld(held);
    if (released.length > 0 && patched('tell-provision-of-released')) this.signals.tellReleased(released);
    for (const workflowId of ended) this.forget(workflowId);
    if (ended.length > 0) this.changes.note();
    if (holders !== undefined) this.waiting.tellSlots(holders);
    const asking = slotRequests.waiting.map(({ workflowId }) => workflowId);
    // The `disrupt` that started them may have sent them an older state of the pauses.
    this.signals.hold(running.adopt(owners, { asking, now: workflowNow() }));
  }

  /** One round: waits for a change, then grants slots, searches for commands and starts them. */
  async round(): Promise<undefined> {
    await this.changes.next({
      until: this.wakeAt,
      summary: 'the next budget window or search',
      onWait: () => this.progress.enter('watching', { waitingFor: 'the cluster to change', until: this.wakeAt }),
    });
    const decide = (): Promise<void> => this.watchdog.run(() => this.decide());
    await this.failed.attempt('a round of decisions', decide, () => this.changes.note());
  }

  private async decide(): Promise<void> {
    const { watchdog } = this;
    watchdog.enter('checking which disruptions still run');
    await this.forgetEnded();
    watchdog.enter('removing taints of disruptions that are over');
    if (workflowNow() >= this.taintCheckAt) await this.removeLeftOverTaints();
    watchdog.enter('granting slots');
    const slotsCheckAt = await this.slotGrants.decide();
    watchdog.enter('searching for nodes to disrupt');
    const options = { summary: 'search for nodes to disrupt', startToCloseTimeout: passTimeout };
    const found = await untilHistoryFull(() =>
      this.activities.kube.findDisruptions.executeWithOptions(options, [this.view()]),
    );
    this.takeIn(found);
    watchdog.enter('starting the commands');
    for (const { workflowId, why, isSuperseded } of found.moot ?? []) {
      await this.commands.withdraw(workflowId, why, isSuperseded === true);
    }
    // One command that cannot be started does not stop the others; the next round tries it again.
    await settleInTurn(found.commands, (command) => this.commands.start(command));
    // A method that found commands ends the search: the methods after it have yet to search (candidates/methods-in-order).
    if (found.again === true) this.changes.note();
    this.wakeAt = this.nextRoundAt(found, slotsCheckAt);
    this.showState(found);
  }

  /** When the next round is due if no change is signalled, milliseconds of the epoch. */
  private nextRoundAt({ nextCheckAt = Number.POSITIVE_INFINITY }: DisruptionsFound, slotsCheckAt: number): number {
    const { running, pauses, questions } = this.known;
    return Math.min(
      nextCheckAt,
      slotsCheckAt,
      workflowNow() + slowPollMs,
      // Adopted workflows do not signal their end: only the check for left-over taints finds it (candidates/left-over-taints).
      running.hasAdopted ? this.taintCheckAt : Number.POSITIVE_INFINITY,
      pauses.nextEnd(),
      questions.nextEnd(),
    );
  }

  private showState({ held }: DisruptionsFound): void {
    const { running, slotRequests, questions } = this.known;
    this.progress.addFacts({
      running: running.all.length,
      held: held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
      'slots waited for': slotRequests.waiting.length || undefined,
      'waiting for approval': questions.open.length || undefined,
    });
  }

  private view(): DisruptionView {
    if (this.known.pauses.expire(workflowNow())) {
      this.pauseObjects.notify();
      this.afterPauseChange();
    }
    return this.known.view();
  }

  /** Records the findings of a round; pauses consolidation of NodePools whose pods were moved too often in a row. */
  private takeIn(found: DisruptionsFound): void {
    const { lastFindings, pauses } = this.known;
    if (found.recorded !== undefined) this.known.takeOver(found.recorded);
    if (found.recordsVersion !== undefined) this.known.noteRecords(found.recordsVersion);
    this.progress.addFacts({ [undecidedFact]: lastFindings.note(found) });
    for (const { nodePool, why } of found.chains ?? []) {
      const scope: PauseScope = { kind: 'nodePool', name: nodePool, reason: 'Underutilized' };
      this.pause(() => pauses.add({ scope, reason: why, actor: 'stowage', until: workflowNow() + chainPauseMs }));
    }
  }

  private resume(scope: PauseScope): readonly Pause[] {
    const { kind, name } = scope;
    if (kind === 'nodePool' && name !== undefined) this.known.forgetMoveChains(name);
    return this.pause(() => this.known.pauses.remove(scope));
  }

  private pause(change: () => void): readonly Pause[] {
    const { pauses } = this.known;
    const before = pauses.all;
    change();
    this.pauseObjects.write(before);
    this.afterPauseChange();
    return pauses.all;
  }

  private afterPauseChange(): void {
    this.changes.note();
    // Workflows that are held and not known here have to hear of it too.
    if (patched('find-held-at-pause-change')) this.taintCheckAt = 0;
    this.progress.attributes([pausedAttribute(this.known.pauses)]);
    this.signals.hold();
  }
}

function progressOf(cluster: string, pauses: Pauses): Progress {
  const title = 'Disruption: removes nodes that are not needed';
  const attributes = [{ key: searchAttributes.cluster, value: cluster }, pausedAttribute(pauses)];
  return new Progress(title, attributes, {}, 'watching');
}

function pausedAttribute({ all }: Pauses): SearchAttributeUpdatePair {
  return { key: searchAttributes.paused, value: all.length > 0 };
}
