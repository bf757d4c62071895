import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
} from '@temporalio/workflow';
import type { ClaimView, NodeSync, RefusedWrite } from '../../activities/launch/contract.js';
import { workflowNow } from '../clock.js';
import {
  type LaunchNodeInput,
  type LaunchOutcome,
  launchStoppedSignal,
  nodeChangedSignal,
  launchEndedSignal,
  searchAttributes,
  stopLaunchSignal,
} from '../messages.js';
import { Changes } from '../entity/changes.js';
import { isHistoryLong } from '../history-limit.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import { LaunchAttempts } from './launch-attempts.js';
import { OutageAwareTimeout } from './outage-aware-timeout.js';
import { setSignalHandler } from '../handlers.js';
import { counted, dollars } from '../../core/text.js';
import { backOffMs } from '../../core/back-off.js';
import { launchTimeoutMs, registrationTimeoutMs } from '../../core/launch-timeouts.js';
import { nodeNotFound } from '../../core/registration-health.js';

const minutes = 60_000;
/** The operator signals changes of Nodes; this poll finds changes whose signal was lost. */
const slowPollMs = 1 * minutes;
/**
 * How long a kubelet gets to register after an outage of the API server. It retries within seconds, but its certificate
 * may take longer.
 */
const recoveryMs = 3 * minutes;

/**
 * Launches one NodeClaim (launch/finalizer-first, launch/timeouts): makes sure of its finalizer, calls CreateFleet,
 * waits up to 15 minutes for registration and without limit for initialization. A refused or late launch deletes the
 * NodeClaim, and so does the end of its instance before that (launch/instance-ended). The workflow stops when the
 * NodeClaim is deleted.
 */
export async function launchNode(input: LaunchNodeInput): Promise<LaunchOutcome> {
  const launch = new Launch(input);
  const outcome = await launch.run();
  await launch.settle(outcome);
  return outcome;
}

type Ended = { readonly done: LaunchOutcome };

/** The most characters of a failure message in the signal to other workflows. */
const longestWhy = 300;

const refusedBackOff = { firstMs: 1000, longestMs: 30_000 };

const isRefused = (answer: { readonly state: string } | undefined): answer is RefusedWrite =>
  answer?.state === 'refused';

class Launch {
  private readonly activities;
  private readonly progress: Progress;
  private readonly attempts: LaunchAttempts;
  private readonly scope = new CancellationScope();
  /** Ids of the workflows that asked this one to stop, and wait for the answer. */
  private readonly stopRequesters = new Set<string>();
  private stopped = false;
  private readonly changes = new Changes(false);
  private providerId: string | undefined;

  constructor(private readonly input: LaunchNodeInput) {
    this.activities = activitiesOf(input.cluster);
    setSignalHandler(nodeChangedSignal, () => this.changes.note());
    setSignalHandler(stopLaunchSignal, ({ replyTo }) => {
      if (replyTo !== undefined) this.stopRequesters.add(replyTo);
      this.stopped = true;
      this.changes.note();
      // An attempt under way runs to its end, since it may have created an instance; only the wait for the next one is
      // cancelled.
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
      input.isFirst === true ? 'launching' : 'preparing',
    );
    const { activities, progress, scope } = this;
    this.attempts = new LaunchAttempts(input, { activities, progress, scope, stopped: () => this.stopped });
  }

  async run(): Promise<LaunchOutcome> {
    const { claim, isFirst, launchedAt } = this.input;
    if (isFirst === true) return this.launch(false);
    const view = await this.untilTaken(() => this.activities.kube.prepareClaim({ claim }));
    if ('done' in view) return view.done;
    if (view.state !== 'live') return this.superseded(view);
    this.providerId = view.providerId;
    // Another launch of the NodeClaim may have been terminated before it recorded its instance.
    if (view.providerId === undefined) return this.launch(true);
    return this.awaitNode(launchedAt ?? view.launchedAt ?? workflowNow(), { wasRegistered: view.registered });
  }

  /** Signals the outcome to the workflows that wait for this launch. */
  async settle(outcome: LaunchOutcome): Promise<void> {
    const { notify: first, alsoNotify = [], claim } = this.input;
    this.progress.enter(outcome.outcome, { facts: { outcome: outcome.outcome } });
    const why = outcome.outcome === 'deleted' ? { message: outcome.message.slice(0, longestWhy) } : {};
    const settlement = { uid: claim.uid, outcome: outcome.outcome, ...why };
    for (const waiter of first === undefined ? [] : [first, ...alsoNotify]) {
      await notify(() => getExternalWorkflowHandle(waiter).signal(launchEndedSignal, settlement));
    }
    const settled = this.providerId === undefined ? {} : { providerId: this.providerId };
    for (const requester of this.stopRequesters) {
      await notify(() => getExternalWorkflowHandle(requester).signal(launchStoppedSignal, settled));
    }
  }

  private async launch(mayHaveInstance: boolean): Promise<LaunchOutcome> {
    const { claim } = this.input;
    const result = await this.attempts.untilOutcome(mayHaveInstance);
    if (result === 'stopped') return this.supersededNow();
    if (result.state === 'failed') return this.fail('launch_timeout', result.message);
    if (result.state === 'gone') return { outcome: 'superseded' };
    if (result.state === 'refused') return this.fail(result.reason, result.message);
    const { instance, recorded = false } = result;
    this.providerId = instance.providerId;
    this.progress.enter('registering', {
      attributes: [{ key: searchAttributes.instanceId, value: instance.instanceId }],
      facts: {
        instance: instance.instanceId,
        type: instance.instanceType,
        zone: instance.zone,
        capacity: instance.capacityType,
        ...(instance.pricePerHour === undefined ? {} : { 'price per hour': dollars(instance.pricePerHour) }),
        ...(instance.unavailable.length === 0 ? {} : { 'out of capacity': refusalsOf(instance.unavailable) }),
      },
    });
    if (!recorded) {
      const ended = await this.untilTaken(() => this.activities.kube.recordLaunch({ claim, instance }));
      if (ended !== undefined) return ended.done;
    }
    if (this.stopped) return this.supersededNow();
    return this.awaitNode(workflowNow(), { isNew: recorded });
  }

  /**
   * Writes to the NodeClaim until the API server accepts it. Refusals are no outage, so that retries are limited by the
   * launch timeout (launch/refused-writes). Activities of workers of earlier builds return nothing.
   */
  private async untilTaken<T extends { readonly state: string } | undefined>(
    write: () => Promise<T>,
  ): Promise<Exclude<T, RefusedWrite> | Ended> {
    const allowedMs = this.input.launchTimeoutMs ?? launchTimeoutMs;
    const since = new Date(workflowNow()).toISOString();
    for (let attempt = 1, spentMs = 0; ; attempt++) {
      const answer = await write();
      if (!isRefused(answer)) {
        this.progress.setFailing(undefined);
        return answer as Exclude<T, RefusedWrite>;
      }
      const { message: why } = answer;
      const pauseMs = Math.min(backOffMs(attempt, refusedBackOff), allowedMs - spentMs);
      if (pauseMs <= 0) return { done: await this.fail('launch_timeout', why, { refused: true }) };
      this.progress.setFailing({ since, why });
      this.progress.enter('retrying', { waitingFor: why, until: workflowNow() + pauseMs });
      await condition(() => this.stopped, pauseMs, { summary: `try again: ${why}`.slice(0, 200) });
      if (this.stopped) return { done: this.supersededNow() };
      spentMs += pauseMs;
    }
  }

  /** For a new instance (`isNew`) there is no Node yet, so it first waits for a signal or the next poll. */
  private async awaitNode(
    launchedAt: number,
    { wasRegistered = false, isNew = false }: { readonly wasRegistered?: boolean; readonly isNew?: boolean },
  ): Promise<LaunchOutcome> {
    const begun = this.registrationTime(this.input.registering ?? { since: launchedAt });
    let time = wasRegistered ? undefined : begun;
    await this.beginWaiting(time, isNew);
    while (!this.stopped) {
      const sync = await this.syncNode(time);
      if (!('reason' in sync)) return sync.state === 'unlaunched' ? this.launchAgain() : this.supersededNow();
      time = this.registrationTimeAfter(sync, time);
      if (sync.state === 'initialized') {
        const { nodeName, providerId } = sync;
        return { outcome: 'initialized', nodeName, providerId };
      }
      const ended = sync.state === 'waiting' ? await this.failIfLate(sync, time) : undefined;
      if (ended !== undefined) return ended;
      await this.waitForChange(sync, time?.endsAt);
      if (isHistoryLong() && !this.isStopped()) {
        return continueAsNew<typeof launchNode>({
          ...this.input,
          isFirst: false,
          launchedAt,
          registering: (time ?? begun).state,
        });
      }
    }
    return this.supersededNow();
  }

  private async failIfLate(
    { message, againMs, instanceEnded }: Extract<NodeSync, { state: 'waiting' }>,
    time: OutageAwareTimeout | undefined,
  ): Promise<LaunchOutcome | undefined> {
    if (instanceEnded === true) return this.fail('instance_ended', message);
    return time?.isOver === true && againMs === undefined ? this.fail('registration_timeout', message) : undefined;
  }

  private async beginWaiting(time: OutageAwareTimeout | undefined, isNew: boolean): Promise<void> {
    if (isNew) await this.waitForChange(nodeNotFound, time?.endsAt);
    else this.progress.enter(time === undefined ? 'initializing' : 'registering');
  }

  /**
   * The registration timeout after a sync; undefined for a registered Node. If the API server was restored from a
   * backup from before the registration, a new timeout begins.
   */
  private registrationTimeAfter(sync: NodeSync, time: OutageAwareTimeout | undefined): OutageAwareTimeout | undefined {
    if (sync.state !== 'waiting') return undefined;
    return time ?? (sync.registered === false ? this.registrationTime({ since: workflowNow() }) : undefined);
  }

  /**
   * Continues as new to launch again, because the NodeClaim no longer records its instance. The cloud returns the same
   * instance for the same NodeClaim.
   */
  private async launchAgain(): Promise<LaunchOutcome> {
    if (this.isStopped()) return this.supersededNow();
    return continueAsNew<typeof launchNode>({
      ...this.input,
      isFirst: false,
      registering: undefined,
      launchedAt: undefined,
    });
  }

  /** The registration timeout does not count outages of the API server, during which no node can register. */
  private registrationTime(since: ConstructorParameters<typeof OutageAwareTimeout>[0]): OutageAwareTimeout {
    return new OutageAwareTimeout(since, {
      allowedMs: this.input.registrationTimeoutMs ?? registrationTimeoutMs,
      checkEveryMs: slowPollMs,
      recoveryMs,
    });
  }

  /**
   * Syncs the Node. Before a timeout is taken as final it reads the API server, because the watch cache may lag behind.
   */
  private async syncNode(time: OutageAwareTimeout | undefined): Promise<NodeSync> {
    const { claim } = this.input;
    const { kube, local } = this.activities;
    const sync = await local.syncNode({ claim }).catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      return kube.syncNode({ claim });
    });
    time?.checked(workflowNow());
    if (time?.isOver !== true || sync.state !== 'waiting' || sync.againMs !== undefined) return sync;
    const summary = 'the timeout has passed: read the Node from the API server';
    const confirmed = await this.activities.kube.syncNode.executeWithOptions({ summary }, [{ claim, live: true }]);
    time.checked(workflowNow());
    return confirmed;
  }

  private async waitForChange(
    sync: { readonly reason: string; readonly message: string; readonly againMs?: number },
    deadline: number | undefined,
  ): Promise<void> {
    this.progress.enter(deadline === undefined ? 'initializing' : 'registering', {
      waitingFor: sync.message === '' ? sync.reason : sync.message,
      until: deadline,
    });
    const wait = deadline === undefined ? slowPollMs : Math.min(slowPollMs, Math.max(1, deadline - workflowNow()));
    const againMs = Math.min(wait, sync.againMs ?? wait);
    await this.changes.next({ until: workflowNow() + againMs, summary: sync.reason });
  }

  /** A method, so that TypeScript does not take `stopped` for unchanged: a signal may arrive during any await. */
  private isStopped(): boolean {
    return this.stopped;
  }

  private async fail(
    reason: Extract<LaunchOutcome, { outcome: 'deleted' }>['reason'],
    message: string,
    more: { readonly refused?: true } = {},
  ): Promise<LaunchOutcome> {
    this.progress.attributes([{ key: searchAttributes.reason, value: reason }]);
    this.progress.enter('failing', { facts: { reason, message } });
    await this.activities.kube.failClaim.executeWithOptions({ summary: reason }, [
      { claim: this.input.claim, reason, message, ...more },
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

/**
 * Counts the offerings that were refused, by capacity type and error code: `spot: 180 offerings
 * (UnfulfillableCapacity)`.
 */
function refusalsOf(refused: readonly { readonly capacityType: string; readonly reason: string }[]): string {
  const counts = new Map<string, number>();
  for (const { capacityType, reason } of refused) {
    const key = `${capacityType}/${reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .map(([key, count]) => `${key.split('/')[0] ?? ''}: ${counted(count, 'offering')} (${key.split('/')[1] ?? ''})`)
    .join(', ');
}
