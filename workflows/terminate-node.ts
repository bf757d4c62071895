import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  DrainBlocker,
  DrainInput,
  DrainProgress,
  EscalationStep,
  TerminationStart,
} from '../activities/contract.js';
import { rootCause } from '@temporalio/common';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { Stuck } from './escalation.js';
import { Escalation } from './escalation.js';
import type { ExpediteOrder, TerminateNodeInput, TerminateNodeResult } from './messages.js';
import { launchSettledSignal, nodeTerminatedSignal, searchAttributes, stopLaunchSignal } from './messages.js';
import { Oversight, withReason } from './oversight.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { tell } from './relations.js';

/** A launch answers at once unless an attempt is under way; an attempt takes two minutes at most. */
const launchSettlesWithinMs = 150_000;
const drainLastsAtLeastMs = 5000;
const eventsPerRun = 4000;
/** A question that no further step ends. */
const longestQuestionMs = 30 * 24 * 3_600_000;

/**
 * Takes a node out of service (section 4.14): taint and load-balancer label, drain by tiers through the eviction API,
 * volumes, instance, finalizers. Two reasons to remove one node meet here; the more urgent one shortens the deadline.
 */
export async function terminateNode(input: TerminateNodeInput): Promise<TerminateNodeResult> {
  const termination = new Termination(input);
  const result = await termination.run();
  if (input.notify !== undefined) {
    const { notify } = input;
    const news = { uid: input.claim.uid, outcome: result.outcome };
    await tell(() => getExternalWorkflowHandle(notify).signal(nodeTerminatedSignal, news));
  }
  return result;
}

type Terminating = Extract<TerminationStart, { state: 'terminating' }>;

/** What a rollout of the pod's owner gets around: it deletes pods itself, once new ones run. */
const heldByBudget: ReadonlySet<DrainBlocker['cause']> = new Set(['pdb-never', 'several-pdbs', 'pdb']);

class Termination {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly startedAt: number;
  private deadline: number | undefined;
  private instanceEndsAt: number | undefined;
  private announced: number | undefined;
  private hurry = new CancellationScope();
  private escalation: Escalation | undefined;
  private longestGraceMs = 0;
  private evicted: number;
  private settled: { readonly providerId?: string } | undefined;

  constructor(private readonly input: TerminateNodeInput) {
    this.activities = activitiesOf(input.cluster);
    this.startedAt = input.carried?.startedAt ?? workflowNow();
    this.evicted = input.carried?.evicted ?? 0;
    this.deadline = input.deadline;
    this.instanceEndsAt = input.instanceEndsAt;
    setHandler(launchSettledSignal, (settled) => void (this.settled = settled));
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
      onRetry: () => this.hurry.cancel(),
    });
    // The claim is being deleted, and that cannot be taken back.
    this.oversight.passPointOfNoReturn();
  }

  async run(): Promise<TerminateNodeResult> {
    const { claim, deleteClaim, reason } = this.input;
    const start = await this.activities.kube.beginTermination.executeWithOptions({ summary: `${reason}: taint` }, [
      { claim, deleteClaim, reason, ...(this.deadline === undefined ? {} : { deadline: this.deadline }) },
    ]);
    if (start.state === 'gone') return this.result('gone');
    this.takeDeadline(start.deadline);
    this.announced = start.deadline;
    this.longestGraceMs = start.longestGraceMs ?? 0;
    const providerId = start.providerId ?? (await this.stopLaunch());
    if (start.nodeName !== undefined) await this.empty(start, start.nodeName);
    if (providerId !== undefined) await this.removeInstance(providerId);
    this.progress.enter('finishing');
    await this.activities.kube.finishTermination({
      claim,
      reason,
      ...(start.nodeName === undefined ? {} : { nodeName: start.nodeName }),
    });
    return this.result('terminated');
  }

  /** A claim without an instance may be getting one this moment: its launch says so, or is over. */
  private async stopLaunch(): Promise<string | undefined> {
    const { cluster, claim } = this.input;
    const launchId = workflowIds.launch(cluster, claim.uid);
    this.progress.enter('stopping the launch', { waitingFor: launchId, until: workflowNow() + launchSettlesWithinMs });
    const heard = await tell(() =>
      getExternalWorkflowHandle(launchId).signal(stopLaunchSignal, { replyTo: workflowInfo().workflowId }),
    );
    if (heard) {
      await condition(() => this.settled !== undefined, launchSettlesWithinMs, { summary: 'launch to settle' });
    }
    if (this.settled?.providerId !== undefined) return this.settled.providerId;
    // The launch ended before it could be told: what it wrote is in the claim.
    const view = await this.activities.kube.viewClaim({ claim });
    return view.state === 'gone' ? undefined : view.providerId;
  }

  private async empty(start: Terminating, nodeName: string): Promise<void> {
    const since = this.input.carried?.drainingSince ?? workflowNow();
    this.progress.note({ node: nodeName });
    await this.withLadder(start, nodeName, () => this.drainAndDetach(start, nodeName, since));
    this.progress.attributes([{ key: searchAttributes.blockedBy, value: null }]);
  }

  private async drainAndDetach(start: Terminating, nodeName: string, since: number): Promise<void> {
    const gone = !start.nodeReady && (await this.instanceIsGone(start));
    if (gone && patched('nothing-is-attached-to-a-gone-instance')) return;
    if (!gone) {
      const drained = await this.untilDone('draining', nodeName, since, (input) =>
        this.activities.drain.drainNode.executeWithOptions({ summary: `drain ${nodeName}` }, [input]),
      );
      if (drained.instanceGone === true) return;
      const rest = drainLastsAtLeastMs - (workflowNow() - since);
      if (rest > 0) await sleep(rest, { summary: 'five seconds since draining began' });
    }
    await this.untilDone('detaching volumes', nodeName, since, (input) =>
      this.activities.drain.awaitVolumesDetached.executeWithOptions({ summary: `volumes of ${nodeName}` }, [input]),
    );
  }

  /** Does `work`, beside it the ladder of a stuck drain where the pool's policy has one. */
  private async withLadder(start: Terminating, nodeName: string, work: () => Promise<void>): Promise<void> {
    if (start.escalation === undefined) return work();
    const take = (step: EscalationStep, stuck: Stuck): Promise<void> => this.escalate(step, stuck, nodeName);
    const escalation = new Escalation(start.escalation, take, this.input.carried?.escalation);
    this.escalation = escalation;
    const scope = new CancellationScope();
    const climbing = scope
      .run(() => escalation.run())
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
    try {
      await work();
    } finally {
      this.escalation = undefined;
      scope.cancel();
      await climbing;
    }
  }

  private async escalate(step: EscalationStep, { since, blockers }: Stuck, nodeName: string): Promise<void> {
    const { claim } = this.input;
    const note = (what: string): void => this.progress.note({ [`escalation: ${step.action}`]: what });
    const at = new Date(workflowNow()).toISOString();
    try {
      switch (step.action) {
        case 'Notify': {
          const stuckMs = workflowNow() - since;
          await this.activities.kube.notifyStuckDrain({ claim, nodeName, stuckMs, blockers });
          note(`told at ${at}`);
          break;
        }
        case 'RestartOwner': {
          const pods = blockers.filter(({ cause }) => heldByBudget.has(cause)).flatMap((blocker) => blocker.pods);
          const { restarted, refused } = await this.activities.kube.restartOwners({ pods, at: workflowNow() });
          const left = refused.map(({ owner, why }) => `${owner} not: ${why}`);
          note([`at ${at}`, ...restarted, ...left].join('; '));
          break;
        }
        case 'AskApproval':
          note(`asked at ${at}`);
          note(await this.askWhetherToForce(since));
          break;
        case 'Force':
          note(`at ${at}`);
          this.expedite({});
      }
    } catch (error) {
      if (isCancellation(error)) throw error;
      note(`failed at ${at}: ${rootCause(error) ?? 'for an unknown reason'}`);
    }
  }

  /** A node that is not Ready and has no instance any more needs no drain. */
  private async instanceIsGone({ providerId }: Terminating): Promise<boolean> {
    if (providerId === undefined) return true;
    const { state } = await this.activities.cloud.findInstance({ providerId });
    return state === 'gone';
  }

  /** Asks until somebody answers, the next step is due, or the drain goes on by itself. Gives what came of it. */
  private async askWhetherToForce(stuckSince: number): Promise<string> {
    const next = this.escalation?.next;
    const consent = await this.oversight.ask(next === undefined ? longestQuestionMs : next.at - workflowNow(), {
      summary: 'whether to force the drain',
      until: () => this.escalation?.state.stuckSince !== stuckSince,
    });
    if (consent === undefined) return 'nobody answered';
    const by = `${consent.answer} by ${withReason(consent.by, consent.reason)}`;
    if (consent.answer === 'approved') this.expedite({});
    else this.escalation?.refuse();
    return by;
  }

  /** One activity for as long as nothing changes; again when another cause blocks or the deadline moves. */
  private async untilDone(
    phase: string,
    nodeName: string,
    since: number,
    step: (input: DrainInput) => Promise<DrainProgress>,
  ): Promise<DrainProgress> {
    let known: readonly string[] = [];
    let held = '';
    for (;;) {
      await this.announceDeadline();
      this.progress.enter(phase, {
        waitingFor: held === '' ? 'pods to leave' : held,
        until: this.deadline,
        facts: { 'pods evicted': this.evicted },
      });
      const progress = await this.unlessHurried(() => step(this.drainInput(nodeName, known, since)));
      if (progress === undefined) continue;
      this.evicted += progress.evicted;
      if (progress.state === 'done') return progress;
      known = progress.blockedBy;
      held = waitText(progress);
      this.showBlocked(progress);
      await this.continueWhenLong(since);
    }
  }

  private drainInput(nodeName: string, known: readonly string[], since: number): DrainInput {
    const { deadline, instanceEndsAt } = this;
    const { claim, reason } = this.input;
    return {
      claim,
      nodeName,
      known,
      since,
      reason,
      ...(deadline === undefined ? {} : { deadline }),
      ...(instanceEndsAt === undefined ? {} : { instanceEndsAt }),
    };
  }

  private showBlocked(progress: DrainProgress): void {
    this.longestGraceMs = progress.longestGraceMs ?? this.longestGraceMs;
    this.escalation?.report(progress);
    this.progress.attributes([{ key: searchAttributes.blockedBy, value: progress.blockedBy[0] ?? null }]);
    const next = this.escalation?.next;
    this.progress.note({
      'pods left': progress.remaining,
      ...(progress.blockers === undefined ? {} : { 'blocked by': blockedText(progress.blockers) }),
      ...(this.escalation === undefined
        ? {}
        : { 'next step': next === undefined ? 'none' : `${next.action} at ${new Date(next.at).toISOString()}` }),
    });
  }

  private async continueWhenLong(drainingSince: number): Promise<void> {
    if (workflowInfo().historyLength <= eventsPerRun) return;
    const { deadline, instanceEndsAt, startedAt, evicted } = this;
    const escalation = this.escalation?.state;
    await continueAsNew<typeof terminateNode>({
      ...this.input,
      ...(deadline === undefined ? {} : { deadline }),
      ...(instanceEndsAt === undefined ? {} : { instanceEndsAt }),
      carried: { startedAt, drainingSince, evicted, ...(escalation === undefined ? {} : { escalation }) },
    });
  }

  /** Gives up waiting for `step` when somebody hurries: it is then taken anew. */
  private async unlessHurried<T>(step: () => Promise<T>): Promise<T | undefined> {
    this.hurry = new CancellationScope();
    const scope = this.hurry;
    try {
      return await scope.run(step);
    } catch (error) {
      if (isCancellation(error) && scope.consideredCancelled && !CancellationScope.current().consideredCancelled) {
        return undefined;
      }
      throw error;
    }
  }

  private expedite(order: ExpediteOrder): void {
    const { instanceEndsAt } = order;
    const asked = order.deadline ?? (instanceEndsAt === undefined ? workflowNow() + this.longestGraceMs : undefined);
    const sooner = asked !== undefined && (this.deadline === undefined || asked < this.deadline);
    const ends = instanceEndsAt !== undefined && instanceEndsAt < (this.instanceEndsAt ?? Number.POSITIVE_INFINITY);
    if (!sooner && !ends) return;
    if (sooner) this.deadline = asked;
    if (ends) this.instanceEndsAt = instanceEndsAt;
    this.hurry.cancel();
  }

  private async announceDeadline(): Promise<void> {
    const { deadline } = this;
    if (deadline === undefined || (this.announced !== undefined && this.announced <= deadline)) return;
    await this.activities.kube.setDeadline({ claim: this.input.claim, deadline });
    this.announced = deadline;
  }

  private async removeInstance(providerId: string): Promise<void> {
    const { claim } = this.input;
    this.progress.enter('terminating the instance', { waitingFor: providerId });
    const { state } = await this.activities.cloud.terminateInstance.executeWithOptions({ summary: providerId }, [
      { claim, providerId },
    ]);
    if (state === 'gone') return;
    await this.activities.kube.markInstanceTerminating({ claim });
    await this.activities.waitCloud.awaitInstanceGone.executeWithOptions({ summary: `${providerId} to be gone` }, [
      { providerId },
    ]);
  }

  private takeDeadline(deadline: number | undefined): void {
    if (deadline !== undefined) this.deadline = Math.min(deadline, this.deadline ?? deadline);
  }

  private result(outcome: TerminateNodeResult['outcome']): TerminateNodeResult {
    this.oversight.finish();
    this.progress.enter(outcome, { facts: { 'pods evicted': this.evicted } });
    return { outcome, podsEvicted: this.evicted, durationMs: workflowNow() - this.startedAt };
  }
}

function waitText({ blockedBy, blockers }: DrainProgress): string {
  return blockers === undefined ? blockedBy.join(', ') : blockers.map(({ name, why }) => `${name}: ${why}`).join('; ');
}

function blockedText(blockers: readonly DrainBlocker[]): string {
  if (blockers.length === 0) return 'nothing';
  return blockers
    .map(({ name, why, pods, podCount }) => {
      const more = podCount > pods.length ? ` and ${podCount - pods.length} more` : '';
      return podCount === 0 ? `${name} ${why}` : `${name} ${why} (holds ${pods.join(', ')}${more})`;
    })
    .join('; ');
}
