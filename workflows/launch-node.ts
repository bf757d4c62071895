import {
  ActivityFailure,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ClaimView, LaunchInstanceResult } from '../activities/contract.js';
import { workflowNow } from './clock.js';
import type { LaunchNodeInput, LaunchOutcome } from './messages.js';
import {
  launchSettledSignal,
  nodeChangedSignal,
  replacementSettledSignal,
  searchAttributes,
  stopLaunchSignal,
} from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { tell } from './relations.js';

const minutes = 60_000;
/** Node watches signal changes; this poll is for changes that no watch reported. */
const slowPollMs = 1 * minutes;
const eventsPerRun = 2000;

/**
 * One NodeClaim from launch to initialization (section 3.1): finalizer, CreateFleet, registration within 15 minutes,
 * initialization without a limit. A refused or late launch deletes the claim; a deletion of the claim stops it.
 */
export async function launchNode(input: LaunchNodeInput): Promise<LaunchOutcome> {
  const launch = new Launch(input);
  const outcome = await launch.run();
  await launch.settle(outcome);
  return outcome;
}

type Ended = { readonly done: LaunchOutcome };

class Launch {
  private readonly activities;
  private readonly progress: Progress;
  private readonly scope = new CancellationScope();
  private readonly askers = new Set<string>();
  private stopped = false;
  private changed = false;
  private providerId: string | undefined;

  constructor(private readonly input: LaunchNodeInput) {
    this.activities = activitiesOf(input.cluster);
    setHandler(nodeChangedSignal, () => void (this.changed = true));
    setHandler(stopLaunchSignal, ({ replyTo }) => {
      if (replyTo !== undefined) this.askers.add(replyTo);
      this.stopped = true;
      // Whatever attempt runs is seen to its end; only waiting between attempts is cut short.
      this.scope.cancel();
    });
    this.progress = new Progress(
      `Launching ${input.claim.name}`,
      [
        { key: searchAttributes.cluster, value: input.cluster },
        { key: searchAttributes.nodePool, value: input.nodePool },
        { key: searchAttributes.nodeClaim, value: input.claim.name },
        ...(input.reason === undefined ? [] : [{ key: searchAttributes.reason, value: input.reason }]),
      ],
      { NodeClaim: input.claim.name, NodePool: input.nodePool },
      'preparing',
    );
  }

  async run(): Promise<LaunchOutcome> {
    const view = await this.activities.kube.prepareClaim({ claim: this.input.claim });
    if (view.state !== 'live') return this.superseded(view);
    this.providerId = view.providerId;
    let launchedAt = this.input.launchedAt ?? view.launchedAt;
    if (view.providerId === undefined) {
      const ended = await this.launch();
      if (ended !== undefined) return ended.done;
      launchedAt = workflowNow();
    }
    return this.awaitNode(launchedAt ?? workflowNow(), view.registered);
  }

  /** Tells everybody who waits for this launch how it ended. */
  async settle(outcome: LaunchOutcome): Promise<void> {
    const { notify, alsoNotify = [], claim } = this.input;
    this.progress.enter(outcome.outcome, { facts: { outcome: outcome.outcome } });
    const news = { uid: claim.uid, outcome: outcome.outcome };
    for (const waiter of notify === undefined ? [] : [notify, ...alsoNotify]) {
      await tell(() => getExternalWorkflowHandle(waiter).signal(replacementSettledSignal, news));
    }
    const settled = this.providerId === undefined ? {} : { providerId: this.providerId };
    for (const asker of this.askers) {
      await tell(() => getExternalWorkflowHandle(asker).signal(launchSettledSignal, settled));
    }
  }

  private async launch(): Promise<Ended | undefined> {
    const { claim, nodePool } = this.input;
    const timeout = this.input.launchTimeoutMs ?? 5 * minutes;
    this.progress.enter('launching', { waitingFor: 'an instance', until: workflowNow() + timeout });
    let result: LaunchInstanceResult;
    try {
      result = await this.scope.run(() =>
        this.activities.cloud.launchInstance.executeWithOptions(
          { summary: `CreateFleet for ${claim.name} (${nodePool})`, scheduleToCloseTimeout: timeout },
          [{ claim }],
        ),
      );
    } catch (error) {
      if (this.stopped && isCancellation(error)) return { done: this.supersededNow() };
      if (!isTimeout(error)) throw error;
      return { done: await this.fail('launch_timeout', lastMessage(error)) };
    }
    if (result.state === 'gone') return { done: { outcome: 'superseded' } };
    if (result.state === 'refused') return { done: await this.fail(result.reason, result.message) };
    const { instance } = result;
    this.providerId = instance.providerId;
    this.progress.attributes([{ key: searchAttributes.instanceId, value: instance.instanceId }]);
    this.progress.note({
      instance: instance.instanceId,
      type: instance.instanceType,
      zone: instance.zone,
      capacity: instance.capacityType,
      ...(instance.pricePerHour === undefined ? {} : { 'price per hour': instance.pricePerHour }),
      ...(instance.unavailable.length === 0 ? {} : { 'out of capacity': refusalsOf(instance.unavailable) }),
    });
    await this.activities.kube.recordLaunch({ claim, instance });
    return this.stopped ? { done: this.supersededNow() } : undefined;
  }

  private async awaitNode(launchedAt: number, alreadyRegistered: boolean): Promise<LaunchOutcome> {
    const deadline = launchedAt + (this.input.registrationTimeoutMs ?? 15 * minutes);
    let registered = alreadyRegistered;
    let tagged = false;
    this.progress.enter(registered ? 'initializing' : 'registering');
    while (!this.stopped) {
      this.changed = false;
      const sync = await this.activities.kube.syncNode({ claim: this.input.claim });
      if (!('reason' in sync)) return this.supersededNow();
      if (sync.state === 'waiting') {
        if (!registered && workflowNow() >= deadline) return this.fail('registration_timeout', sync.message);
      } else {
        registered = true;
        const { nodeName, providerId } = sync;
        if (!tagged) await this.activities.cloud.tagInstance({ claim: this.input.claim, providerId, nodeName });
        tagged = true;
        if (sync.state === 'initialized') return { outcome: 'initialized', nodeName, providerId };
      }
      await this.waitForChange(sync, registered ? undefined : deadline);
      if (workflowInfo().historyLength > eventsPerRun && !this.isStopped()) {
        return continueAsNew<typeof launchNode>({ ...this.input, launchedAt });
      }
    }
    return this.supersededNow();
  }

  private async waitForChange(sync: { reason: string; message: string }, deadline: number | undefined): Promise<void> {
    this.progress.enter(deadline === undefined ? 'initializing' : 'registering', {
      waitingFor: sync.message === '' ? sync.reason : sync.message,
      until: deadline,
    });
    const wait = deadline === undefined ? slowPollMs : Math.min(slowPollMs, Math.max(1, deadline - workflowNow()));
    await condition(() => this.changed || this.stopped, wait, { summary: sync.reason });
  }

  /** Asked anew: a signal may have come in during any wait. */
  private isStopped(): boolean {
    return this.stopped;
  }

  private async fail(
    reason: Extract<LaunchOutcome, { outcome: 'deleted' }>['reason'],
    message: string,
  ): Promise<LaunchOutcome> {
    this.progress.attributes([{ key: searchAttributes.reason, value: reason }]);
    this.progress.enter('failing', { facts: { reason, message } });
    await this.activities.kube.failClaim.executeWithOptions({ summary: reason }, [
      { claim: this.input.claim, reason, message },
    ]);
    return { outcome: 'deleted', reason, message };
  }

  private superseded(view: Exclude<ClaimView, { state: 'live' }>): LaunchOutcome {
    if (view.state === 'deleting') this.providerId = view.providerId;
    return this.supersededNow();
  }

  private supersededNow(): LaunchOutcome {
    return {
      outcome: 'superseded',
      ...(this.providerId === undefined ? {} : { providerId: this.providerId }),
    };
  }
}

/** What refused before something was found, by capacity type and reason: `spot: 180 offerings (UnfulfillableCapacity)`. */
function refusalsOf(refused: readonly { readonly capacityType: string; readonly reason: string }[]): string {
  const counts = new Map<string, number>();
  for (const { capacityType, reason } of refused) {
    const key = `${capacityType}/${reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .map(
      ([key, count]) =>
        `${key.split('/')[0] ?? ''}: ${count} offering${count === 1 ? '' : 's'} (${key.split('/')[1] ?? ''})`,
    )
    .join(', ');
}

function isTimeout(error: unknown): boolean {
  return error instanceof ActivityFailure && (error.cause instanceof TimeoutFailure || error.retryState === 'TIMEOUT');
}

/** What the last attempt said, for the event: the timeout itself says nothing. */
function lastMessage(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const inner = cause?.cause ?? cause;
  return inner instanceof Error ? inner.message : 'launching took too long';
}
