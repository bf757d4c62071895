import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { DrainInput, DrainProgress, TerminationStart } from '../activities/contract.js';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { TerminateNodeInput, TerminateNodeResult } from './messages.js';
import {
  expediteSignal,
  launchSettledSignal,
  nodeTerminatedSignal,
  searchAttributes,
  stopLaunchSignal,
} from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { tell } from './relations.js';

/** A launch answers at once unless an attempt is under way; an attempt takes two minutes at most. */
const launchSettlesWithinMs = 150_000;
const drainLastsAtLeastMs = 5000;
const eventsPerRun = 4000;

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

class Termination {
  private readonly activities;
  private readonly progress: Progress;
  private readonly startedAt = workflowNow();
  private deadline: number | undefined;
  private announced: number | undefined;
  private expedited = new CancellationScope();
  private evicted = 0;
  private settled: { readonly providerId?: string } | undefined;

  constructor(private readonly input: TerminateNodeInput) {
    this.activities = activitiesOf(input.cluster);
    this.deadline = input.deadline;
    setHandler(expediteSignal, ({ deadline = workflowNow(), reason, actor }) => {
      if (this.deadline !== undefined && this.deadline <= deadline) return;
      this.deadline = deadline;
      this.progress.note({ 'expedited by': reason ?? actor ?? 'somebody' });
      this.expedited.cancel();
    });
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
  }

  async run(): Promise<TerminateNodeResult> {
    const { claim, deleteClaim, reason } = this.input;
    const start = await this.activities.kube.beginTermination.executeWithOptions({ summary: `${reason}: taint` }, [
      { claim, deleteClaim, reason, ...(this.deadline === undefined ? {} : { deadline: this.deadline }) },
    ]);
    if (start.state === 'gone') return this.result('gone');
    this.takeDeadline(start.deadline);
    this.announced = start.deadline;
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
    const since = workflowNow();
    this.progress.note({ node: nodeName });
    if (start.nodeReady || !(await this.instanceIsGone(start))) {
      await this.untilDone('draining', nodeName, since, (input) =>
        this.activities.drain.drainNode.executeWithOptions({ summary: `drain ${nodeName}` }, [input]),
      );
      const rest = drainLastsAtLeastMs - (workflowNow() - since);
      if (rest > 0) await sleep(rest, { summary: 'five seconds since draining began' });
    }
    await this.untilDone('detaching volumes', nodeName, since, (input) =>
      this.activities.drain.awaitVolumesDetached.executeWithOptions({ summary: `volumes of ${nodeName}` }, [input]),
    );
    this.progress.attributes([{ key: searchAttributes.blockedBy, value: null }]);
  }

  /** A node that is not Ready and has no instance any more needs no drain. */
  private async instanceIsGone({ providerId }: Terminating): Promise<boolean> {
    if (providerId === undefined) return true;
    const { state } = await this.activities.cloud.findInstance({ providerId });
    return state === 'gone';
  }

  /** One activity for as long as nothing changes; again when another cause blocks or the deadline moves. */
  private async untilDone(
    phase: string,
    nodeName: string,
    since: number,
    step: (input: DrainInput) => Promise<DrainProgress>,
  ): Promise<void> {
    let known: readonly string[] = [];
    for (;;) {
      await this.announceDeadline();
      this.progress.enter(phase, {
        ...(known.length === 0 ? { waitingFor: 'pods to leave' } : { waitingFor: known.join(', ') }),
        until: this.deadline,
        facts: { 'pods evicted': this.evicted },
      });
      const input: DrainInput = {
        claim: this.input.claim,
        nodeName,
        known,
        since,
        ...(this.deadline === undefined ? {} : { deadline: this.deadline }),
      };
      const progress = await this.unlessExpedited(() => step(input));
      if (progress === undefined) continue;
      this.evicted += progress.evicted;
      if (progress.state === 'done') return;
      known = progress.blockedBy;
      this.progress.attributes([{ key: searchAttributes.blockedBy, value: known[0] ?? null }]);
      this.progress.note({ 'pods left': progress.remaining });
      if (workflowInfo().historyLength > eventsPerRun) {
        const { deadline } = this;
        await continueAsNew<typeof terminateNode>({ ...this.input, ...(deadline === undefined ? {} : { deadline }) });
      }
    }
  }

  private async unlessExpedited<T>(step: () => Promise<T>): Promise<T | undefined> {
    this.expedited = new CancellationScope();
    const scope = this.expedited;
    try {
      return await scope.run(step);
    } catch (error) {
      if (isCancellation(error) && scope.consideredCancelled && !CancellationScope.current().consideredCancelled) {
        return undefined;
      }
      throw error;
    }
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
    this.progress.enter(outcome, { facts: { 'pods evicted': this.evicted } });
    return { outcome, podsEvicted: this.evicted, durationMs: workflowNow() - this.startedAt };
  }
}
