import { cancellationSignal, sleep } from '@temporalio/activity';
import type { Pod, PodDisruptionBudget } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { isDomainError } from '../core/failures.js';
import {
  bindingBudgets,
  doNotDisruptUntil,
  graceOf,
  isDrainable,
  isInvalidDoNotDisrupt,
  isOwnedBy,
  isTerminating,
  podKey,
} from '../disruption/pods.js';
import type { DrainActivities, DrainBlocker, DrainInput, DrainProgress } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { Blockers, evictionBlocker, protectionBlocker, refusalBlocker, terminatingBlocker } from './drain-blockers.js';
import type { Reason } from './drain-blockers.js';
import { EvictionOrder } from './eviction-order.js';
import { inBatches } from './in-batches.js';
import { InstanceWatch } from './instance-watch.js';
import { labelsOf } from './labels-of.js';
import { setConditions } from './launch.js';
import { withFailures } from './to-failure.js';
import { awaitVolumes } from './volumes.js';

const lookMs = 1000;
/** Section 4.14: pods that were on their way to the node when it was tainted are seen by then. */
const lastsAtLeastMs = 5000;
/** Evictions under way at a time of pods that no budget counts: kube-scheduler is to keep up with what comes in their place. */
const evictionsAtOnce = 5;
/** A hold-up is told once it has lasted this long. */
const blockedAfterMs = 5000;
const criticalClasses: ReadonlySet<string> = new Set(['system-cluster-critical', 'system-node-critical']);

/** Activities that wait for days if they must, heartbeating (section 4.14). A second attempt finds what the first did. */
export function createDrainActivities(deps: ActivityDeps): DrainActivities {
  return withFailures<DrainActivities>({
    drainNode: (input) => new Drain(deps, input).run(),
    awaitVolumesDetached: (input) => awaitVolumes(deps, input),
  });
}

/** Tiers of section 4.14: each starts when the one before has left. */
function tierOf(pod: Pod): number {
  const critical = criticalClasses.has(pod.spec.priorityClassName ?? '') ? 2 : 0;
  return critical + (isOwnedBy(pod, 'DaemonSet') ? 1 : 0);
}

/** One look at the node's pods. */
interface Pass {
  readonly now: number;
  /** The first tier that has pods left. */
  readonly tier: number;
  readonly budgetsOf: ReadonlyMap<Pod, readonly PodDisruptionBudget[]>;
}

class Drain {
  /** By pod: when its eviction is asked for again, and what refused it if that was no budget. */
  private readonly backoff = new Map<
    string,
    { readonly until: number; readonly delay: number; readonly refused?: Reason }
  >();
  private readonly blockers = new Blockers();
  private readonly order = new EvictionOrder();
  private readonly instance: InstanceWatch;
  private blockedSince: number | undefined;
  private evicted = 0;
  /** No node is drained before then, milliseconds of the epoch. */
  private readonly notBefore: number;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DrainInput,
  ) {
    this.instance = new InstanceWatch(deps, input.nodeName);
    // Its workflow may go by another clock.
    this.notBefore = Math.min(input.since, deps.now()) + lastsAtLeastMs;
  }

  async run(): Promise<DrainProgress> {
    for (;;) {
      const now = this.deps.now();
      const waiting = this.waiting(now);
      if (waiting.length === 0) {
        if (now >= this.notBefore) return await this.done();
        await this.untilChange();
        continue;
      }
      if (await this.instance.isGone()) return this.progress('done', waiting, { instanceGone: true });
      this.blockers.clear();
      await this.moveAll(waiting, now);
      const news = this.news(now);
      if (news !== undefined) {
        await this.showBlockers(news);
        return this.progress('blocked', waiting, { blockers: news });
      }
      await this.untilChange();
    }
  }

  private waiting(now: number): readonly Pod[] {
    const { cache } = this.deps;
    const { nodeName } = this.input;
    const pods = cache.podsOnNode(nodeName).filter((pod) => isDrainable(pod, now));
    return this.order.sort(pods, cache.get('Node', { name: nodeName })?.status?.allocatable);
  }

  /** Pods that a budget counts one after the other, since it may let only the first go; the others some at a time. */
  private async moveAll(waiting: readonly Pod[], now: number): Promise<void> {
    const budgets = this.deps.cache.all('PodDisruptionBudget');
    const budgetsOf = new Map(waiting.map((pod) => [pod, bindingBudgets(pod, budgets)]));
    const pass: Pass = { now, tier: Math.min(...waiting.map(tierOf)), budgetsOf };
    const isCounted = (pod: Pod): boolean => budgetsOf.get(pod)!.length > 0;
    for (const pod of waiting.filter(isCounted)) await this.move(pod, pass);
    const others = waiting.filter((pod) => !isCounted(pod));
    await inBatches(others, (pod) => this.move(pod, pass), { atOnce: evictionsAtOnce });
  }

  /** Takes the next step with one pod: force, eviction when its tier has come, or patience. */
  private async move(pod: Pod, pass: Pass): Promise<void> {
    const { now, tier } = pass;
    if (this.isOverdue(pod, now)) return this.forceDelete(pod, now);
    if (isTerminating(pod)) {
      const late = terminatingBlocker(pod, now);
      if (late !== undefined) this.blockers.add(late, pod);
      return;
    }
    if (tierOf(pod) === tier || this.isShortOfTime(pod, now)) await this.evict(pod, pass);
  }

  private async done(): Promise<DrainProgress> {
    const claim = await setConditions(this.deps, this.input.claim, [{ type: 'Drained', status: 'True' }]);
    this.deps.metrics.count('nodes_drained_total', { nodepool: claim === undefined ? '' : labelsOf(claim).nodePool });
    return this.progress('done', []);
  }

  private progress(
    state: DrainProgress['state'],
    left: readonly Pod[],
    more: Pick<DrainProgress, 'blockers' | 'instanceGone'> = {},
  ): DrainProgress {
    return {
      state,
      blockedBy: (more.blockers ?? []).map(({ name }) => name),
      remaining: left.length,
      evicted: this.evicted,
      ...(left.length === 0 ? {} : { longestGraceMs: Math.max(...left.map(graceOf)) }),
      ...more,
    };
  }

  /** Past this a pod would not have its grace before the deadline, so its protection ends now. */
  private isOverdue(pod: Pod, now: number): boolean {
    const { deadline } = this.input;
    if (deadline === undefined) return false;
    const deletion = pod.metadata.deletionTimestamp;
    return deletion === undefined ? now > deadline - graceOf(pod) : Date.parse(deletion) > deadline;
  }

  /** The cloud takes the instance: a pod that waited for its tier any longer would not have its grace. */
  private isShortOfTime(pod: Pod, now: number): boolean {
    const { instanceEndsAt } = this.input;
    return instanceEndsAt !== undefined && now > instanceEndsAt - graceOf(pod);
  }

  private async forceDelete(pod: Pod, now: number): Promise<void> {
    const { name = '', namespace = '', uid } = pod.metadata;
    const gracePeriodSeconds = Math.max(1, Math.floor(((this.input.deadline ?? now) - now) / 1000));
    const options = { gracePeriodSeconds, ...(uid === undefined ? {} : { uid }) };
    const outcome = await this.unlessRefused(pod, () => this.deps.kube.delete('Pod', { name, namespace }, options));
    if (typeof outcome === 'object') this.blockers.add(outcome, pod);
    if (outcome === 'deleted' && !isTerminating(pod)) {
      this.evicted += 1;
      this.publish(pod, 'Normal', 'Disrupted', 'Deleting the pod to accommodate the terminationTime of the node');
    }
  }

  private async evict(pod: Pod, { now, budgetsOf }: Pass): Promise<void> {
    if (this.isProtected(pod, now)) return;
    const { metrics, kube } = this.deps;
    const wait = this.backoff.get(podKey(pod));
    const blocker = evictionBlocker(pod, budgetsOf.get(pod)!);
    if (wait !== undefined && wait.until > now) {
      this.blockers.add(wait.refused ?? blocker, pod);
      return;
    }
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const answer = await this.unlessRefused(pod, () => kube.evict({ namespace, name, uid }));
    if (!('outcome' in answer)) {
      metrics.count('pods_eviction_requests_total', { code: '500' });
      this.putOff(pod, now, { blocker: answer, message: answer.why, refused: answer });
      return;
    }
    metrics.count('pods_eviction_requests_total', { code: answer.outcome === 'blocked' ? '429' : '200' });
    if (answer.outcome === 'blocked') this.putOff(pod, now, { blocker, message: answer.message });
    if (answer.outcome === 'evicted') {
      this.evicted += 1;
      metrics.count('pods_drained_total', { reason: this.input.reason ?? '' });
      this.publish(pod, 'Normal', 'Evicted', 'Evicted pod');
    }
  }

  /** The pod is asked for again later, ever more rarely. */
  private putOff(
    pod: Pod,
    now: number,
    { blocker, message, refused }: { readonly blocker: Reason; readonly message: string; readonly refused?: Reason },
  ): void {
    const key = podKey(pod);
    const delay = Math.min(10_000, (this.backoff.get(key)?.delay ?? 50) * 2);
    this.backoff.set(key, { until: now + delay, delay, ...(refused === undefined ? {} : { refused }) });
    this.blockers.add(blocker, pod);
    this.publishNode(`Failed to drain node, ${key}: ${message}`);
  }

  /**
   * What the API server answers, or that it refuses this pod: an admission webhook may, for as long as it likes, and that holds
   * up no other pod. One that does not answer at all, or throttles, ends the attempt.
   */
  private async unlessRefused<T>(pod: Pod, ask: () => Promise<T>): Promise<T | Reason> {
    try {
      return await ask();
    } catch (error) {
      if (!isDomainError(error) || error.type === 'Throttled' || error.details.status === undefined) throw error;
      return refusalBlocker(pod, error.message);
    }
  }

  /** Section 1.6: a pod marked do-not-disrupt is waited for; events say until when, and that its time is over. */
  private isProtected(pod: Pod, now: number): boolean {
    const mark = pod.metadata.annotations?.[annotations.doNotDisrupt];
    const until = doNotDisruptUntil(pod, now);
    if (until !== undefined) {
      this.blockers.add(protectionBlocker(pod, until), pod);
      if (Number.isFinite(until)) {
        const end = new Date(until).toISOString();
        this.publish(pod, 'Normal', 'DoNotDisruptUntil', `Pod is not disrupted until ${end} (do-not-disrupt ${mark})`);
      }
      return true;
    }
    if (isInvalidDoNotDisrupt(pod)) {
      this.publish(pod, 'Warning', 'InvalidDoNotDisruptAnnotation', 'do-not-disrupt is neither true nor a duration');
    } else if (mark !== undefined && mark !== 'false') {
      this.publish(pod, 'Normal', 'DoNotDisruptGracePeriodElapsed', `The time of do-not-disrupt ${mark} is over`);
    }
    return false;
  }

  /** What the workflow does not know yet: a hold-up that lasts, or that one is over. */
  private news(now: number): readonly DrainBlocker[] | undefined {
    const blockers = this.blockers.list();
    if (blockers.length === 0) {
      this.blockedSince = undefined;
      return this.input.known.length > 0 ? [] : undefined;
    }
    this.blockedSince ??= now;
    if (blockers.map(({ name }) => name).join() === this.input.known.join()) return undefined;
    return now - this.blockedSince >= blockedAfterMs ? blockers : undefined;
  }

  /** `kubectl describe nodeclaim` says why, for as long as it holds. */
  private async showBlockers(blockers: readonly DrainBlocker[]): Promise<void> {
    const held = blockers.map(({ name, why }) => `${name} ${why}`).join('; ');
    const message = held === '' ? 'the node is being drained' : held;
    await setConditions(this.deps, this.input.claim, [
      { type: 'Drained', status: 'Unknown', reason: 'Draining', message: message.slice(0, 1000) },
    ]);
  }

  /** The next look comes with the next change of the node's pods, or after a second. */
  private async untilChange(): Promise<void> {
    const names = (): string =>
      this.deps.cache
        .podsOnNode(this.input.nodeName)
        .map(({ metadata }) => `${metadata.uid ?? ''}${metadata.deletionTimestamp ?? ''}`)
        .join();
    const before = names();
    const changed = new AbortController();
    const signal = AbortSignal.any([changed.signal, cancellationSignal()]);
    try {
      await Promise.race([this.deps.cache.until(() => names() !== before, signal), sleep(lookMs)]);
    } finally {
      changed.abort();
    }
  }

  private publish(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { name = '', namespace = '', uid } = pod.metadata;
    this.deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Pod', name, namespace, ...(uid === undefined ? {} : { uid }) },
      type,
      reason,
      message,
    });
  }

  private publishNode(message: string): void {
    this.deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Node', name: this.input.nodeName },
      type: 'Warning',
      reason: 'FailedDraining',
      message,
    });
  }
}
