import { condition, continueAsNew, sleep } from '@temporalio/workflow';
import type {
  DrainBlocker,
  DrainInput,
  DrainProgress,
  TerminationStart,
} from '../../activities/termination/contract.js';
import { workflowNow } from '../clock.js';
import { isHistoryLong } from '../history-limit.js';
import { Deadline } from './deadline.js';
import { blockedTexts, endedBy, endedProtection, endingText, podsText, waitText } from './drain-text.js';
import {
  type ExpediteOrder,
  type TerminateNodeInput,
  type TerminateNodeResult,
  searchAttributes,
} from '../messages.js';
import { LaunchStop } from './stop-launch.js';
import { PollInterval } from './poll-interval.js';
import { ordersAnswered, Oversight } from '../people/oversight.js';
import { withReason } from '../people/consent.js';
import { Progress } from '../progress.js';
import { activitiesOf, type Activities } from '../calls/proxies.js';
import { ExpediteScope } from './expedite-scope.js';
import { StuckDrain } from './stuck-drain.js';

const drainLastsAtLeastMs = 5000;
/** What a phase waits for if nothing more is known. */
const waitsFor = { draining: 'pods to leave', 'detaching volumes': 'volumes to be detached' } as const;

/**
 * Terminates a node (termination/steps): taint and load-balancer label, drain by tiers through the eviction API,
 * volumes, instance, finalizers. If there are several reasons to remove a node, the more urgent one shortens the
 * deadline here.
 */
export async function terminateNode(input: TerminateNodeInput): Promise<TerminateNodeResult> {
  const termination = new Termination(input);
  const result = await termination.run();
  await ordersAnswered();
  return result;
}

type Terminating = Extract<TerminationStart, { state: 'terminating' }>;

class Termination {
  private readonly byUrgency: Readonly<Record<'drain' | 'urgent', Activities>>;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly startedAt: number;
  private readonly deadline: Deadline;
  private readonly stuck: StuckDrain;
  private readonly expediteScope = new ExpediteScope();
  private longestGraceMs = 0;
  private evicted: number;
  private readonly launchStop: LaunchStop;
  private blockers: readonly DrainBlocker[] = [];
  /** Name of the node, if the NodeClaim has had one. */
  private nodeName: string | undefined;
  /** Name of the node that is being drained. */
  private drainingNode: string | undefined;

  constructor(private readonly input: TerminateNodeInput) {
    this.byUrgency = {
      drain: activitiesOf(input.cluster, 'drain'),
      urgent: activitiesOf(input.cluster, 'urgent'),
    };
    this.startedAt = input.carried?.startedAt ?? workflowNow();
    this.evicted = input.carried?.evicted ?? 0;
    this.deadline = new Deadline(input, input.carried?.force);
    const launchStop = new LaunchStop(input, { activities: () => this.activities, progress: () => this.progress });
    this.launchStop = launchStop;
    this.progress = new Progress(
      `Terminating ${input.claim.name}: ${input.reason}`,
      [
        { key: searchAttributes.cluster, value: input.cluster },
        { key: searchAttributes.nodePool, value: input.nodePool },
        { key: searchAttributes.nodeClaim, value: input.claim.name },
        { key: searchAttributes.reason, value: input.reason },
      ],
      { NodeClaim: input.claim.name, NodePool: input.nodePool, reason: input.reason },
      'starting',
    );
    this.oversight = new Oversight(this.progress, {
      onExpedite: (order) => this.expedite(order),
      breaks: (order) => endedProtection(order, this.blockers, this.drainingNode),
      onRetry: () => this.pollNow(),
    });
    const { progress, oversight } = this;
    this.stuck = new StuckDrain({
      ...{ claim: input.claim, progress, oversight, carried: input.carried?.escalation },
      activities: () => this.activities,
      blockers: () => this.blockers,
      force: (by) => this.force(by),
    });
    // The deletion of the NodeClaim cannot be undone.
    this.oversight.passPointOfNoReturn();
  }

  /** Uses the urgent queue for nodes whose instance the cloud takes. */
  private get activities(): Activities {
    return this.byUrgency[this.deadline.instanceEndsAt === undefined ? 'drain' : 'urgent'];
  }

  async run(): Promise<TerminateNodeResult> {
    const { claim, nodePool, deleteClaim, reason, unlessPaused, unlessRefused } = this.input;
    const start = await this.activities.kube.beginTermination.executeWithOptions({ summary: `${reason}: taint` }, [
      {
        ...{ claim, deleteClaim, reason },
        ...this.deadline.ends,
        ...(unlessPaused === undefined ? {} : { unlessPaused: { ...unlessPaused, nodePool } }),
        ...(unlessRefused === undefined ? {} : { unlessRefused }),
      },
    ]);
    if (start.state === 'gone') return this.result('gone');
    if (start.state === 'paused' || start.state === 'refused') return this.keptBy(start);
    this.nodeName = start.nodeName;
    this.deadline.noteAnnounced(start.deadline);
    this.longestGraceMs = start.longestGraceMs ?? 0;
    const providerId = await this.launchStop.run(start);
    if (start.nodeName !== undefined) await this.drain(start, start.nodeName);
    // Its attempts fail until the instance is gone: a retry is one action of Temporal Cloud, a timer and a call are two.
    if (providerId === undefined) this.progress.enter('finishing');
    else this.progress.enter('terminating the instance', { waitingFor: providerId });
    await this.activities.cloud.finishTermination.executeWithOptions({ summary: providerId ?? claim.name }, [
      {
        ...{ claim, reason },
        ...(providerId === undefined ? {} : { providerId }),
        ...(start.nodeName === undefined ? {} : { nodeName: start.nodeName }),
      },
    ]);
    return this.result('terminated');
  }

  /** The result if the NodeClaim was not deleted; nothing has been changed on the node. */
  private keptBy({ state, why }: Extract<TerminationStart, { why: string }>): TerminateNodeResult {
    this.progress.addFacts({ 'kept because': why });
    return { ...this.result(state), why };
  }

  private async drain(start: Terminating, nodeName: string): Promise<void> {
    const since = this.input.carried?.drainingSince ?? workflowNow();
    this.progress.addFacts({ node: nodeName });
    this.drainingNode = nodeName;
    await this.stuck.beside(nodeName, start.escalation, () => this.drainAndDetach(start, nodeName, since));
    this.drainingNode = undefined;
    this.blockers = [];
    this.progress.attributes([{ key: searchAttributes.blockedBy, value: null }]);
  }

  private async drainAndDetach(start: Terminating, nodeName: string, since: number): Promise<void> {
    if (start.instanceGone === true) return;
    // The drain of an empty node only waits for pods that were being bound to it.
    if (start.longestGraceMs === undefined) await this.lastAtLeast(since);
    const drained = await this.untilDone('draining', nodeName, since, (input) =>
      this.activities.drain.drainNode.executeWithOptions({ summary: `drain ${nodeName}` }, [input]),
    );
    if (drained.instanceGone === true) return;
    await this.lastAtLeast(since);
    if (drained.volumesDetached === true) return;
    await this.untilDone('detaching volumes', nodeName, since, (input) =>
      this.activities.drain.awaitVolumesDetached.executeWithOptions({ summary: `volumes of ${nodeName}` }, [input]),
    );
  }

  /** Rule `termination/five-seconds`. */
  private async lastAtLeast(since: number): Promise<void> {
    const rest = drainLastsAtLeastMs - (workflowNow() - since);
    if (rest > 0) await sleep(rest, { summary: 'at least five seconds of draining' });
  }

  /**
   * Repeats `step` until it is done, with growing intervals while nothing changes, and at once when the deadline
   * changes.
   */
  private async untilDone(
    phase: keyof typeof waitsFor,
    nodeName: string,
    since: number,
    step: (input: DrainInput) => Promise<DrainProgress>,
  ): Promise<DrainProgress> {
    const interval = new PollInterval();
    let last: DrainProgress = { state: 'waiting', blockedBy: [], remaining: 0, evicted: 0 };
    let known: readonly string[] = [];
    let waitingFor: string = waitsFor[phase];
    for (;;) {
      await this.announceDeadline();
      this.progress.enter(phase, {
        waitingFor,
        until: this.deadline.at,
        facts: { 'pods evicted': this.evicted },
      });
      this.expediteScope.begin();
      const progress = await this.expediteScope.runUnlessExpedited(() =>
        step(this.drainInput(nodeName, known, since, last.blockedSince)),
      );
      if (progress === undefined) continue;
      this.evicted += progress.evicted;
      this.deadline.noteStamped(progress.deadline);
      await this.publishForced(progress);
      if (progress.state === 'done') return progress;
      if (progress.state === 'blocked') {
        known = progress.blockedBy;
        waitingFor = waitText(progress) || waitsFor[phase];
        this.showBlocked(progress);
      } else if (known.length === 0) waitingFor = endingText(progress) ?? waitsFor[phase];
      interval.polled(progress.state === 'blocked' || progress.evicted > 0 || progress.remaining !== last.remaining);
      last = progress;
      await this.continueAsNewIfLong(since);
      const { remaining, dueAt } = progress;
      const pause = interval.nextMs(workflowNow(), dueAt, remaining === 0);
      await condition(() => this.expediteScope.isExpedited, pause, { summary: `${phase}: the next poll` });
    }
  }

  private drainInput(
    nodeName: string,
    known: readonly string[],
    since: number,
    blockedSince: number | undefined,
  ): DrainInput {
    const { claim, reason } = this.input;
    return {
      claim,
      nodeName,
      known,
      since,
      reason,
      ...(blockedSince === undefined ? {} : { blockedSince }),
      ...this.deadline.ends,
    };
  }

  private showBlocked(progress: DrainProgress): void {
    this.longestGraceMs = progress.longestGraceMs ?? this.longestGraceMs;
    this.blockers = progress.blockers ?? [];
    this.stuck.report(progress);
    this.progress.attributes([{ key: searchAttributes.blockedBy, value: progress.blockedBy[0] ?? null }]);
    const ends = endedBy(this.blockers, this.drainingNode ?? '');
    if (progress.blockers !== undefined) this.progress.setBlockedBy(blockedTexts(progress.blockers));
    this.progress.addFacts({ 'pods left': progress.remaining, 'can be ended by': ends });
    this.stuck.showSteps();
  }

  private async continueAsNewIfLong(drainingSince: number): Promise<void> {
    if (!isHistoryLong()) return;
    await this.stuck.stepIsTaken();
    const { startedAt, evicted } = this;
    const escalation = this.stuck.state;
    const { force, ...ends } = this.deadline.carried;
    await continueAsNew<typeof terminateNode>({
      ...this.input,
      ...ends,
      carried: {
        ...{ startedAt, drainingSince, evicted },
        ...(escalation === undefined ? {} : { escalation }),
        ...(force === undefined ? {} : { force }),
      },
    });
  }

  /** Ends the protection of pods at the deadline, by default now. They keep their grace periods. */
  private force(by: string, deadline?: number): void {
    if (this.deadline.shorten(deadline === undefined ? {} : { deadline }, this.longestGraceMs, by)) this.pollNow();
  }

  /** Publishes which pods were deleted in spite of their protection (termination/forced-pods). */
  private async publishForced({ forced }: DrainProgress): Promise<void> {
    if (forced === undefined || this.drainingNode === undefined) return;
    const by = this.deadline.forced();
    if (by === undefined) return;
    const what = `deleted ${podsText(forced)} in spite of PodDisruptionBudgets or do-not-disrupt`;
    this.progress.addFacts({ 'forced by': `${by}: ${what}` });
    const event = { nodes: [this.drainingNode], reason: 'DrainForced', message: `Drain forced by ${by}: ${what}` };
    await this.activities.kube.publishDisruption.executeWithOptions({ summary: 'event DrainForced' }, [event]);
  }

  private expedite(order: ExpediteOrder): void {
    const { actor, reason, force, deadline, instanceEndsAt } = order;
    if (actor !== undefined && force === true) this.force(withReason(actor, reason), deadline);
    // A person's order without `force` ends no protection: it only polls at once.
    else if (actor !== undefined && deadline === undefined && instanceEndsAt === undefined) this.pollNow();
    else if (this.deadline.shorten(order, this.longestGraceMs)) this.pollNow();
  }

  private pollNow(): void {
    this.expediteScope.expedite();
  }

  private async announceDeadline(): Promise<void> {
    const { at, announced } = this.deadline;
    if (at === undefined || (announced !== undefined && announced <= at)) return;
    await this.activities.kube.setDeadline({ claim: this.input.claim, deadline: at });
    this.deadline.announced = at;
  }

  private result(outcome: TerminateNodeResult['outcome']): TerminateNodeResult {
    this.oversight.finish();
    const { evicted: podsEvicted } = this;
    const { forcedBy } = this.deadline;
    this.progress.enter(forcedBy === undefined ? outcome : 'forced', { facts: { 'pods evicted': podsEvicted } });
    const by = forcedBy === undefined ? {} : { forcedBy };
    const node = this.nodeName === undefined ? {} : { nodeName: this.nodeName };
    return { outcome, ...node, podsEvicted, durationMs: workflowNow() - this.startedAt, ...by };
  }
}
