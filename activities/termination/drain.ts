import { blockerText } from '../../core/blocker-text.js';
import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import { graceOf, isDrainable, isOwnedBy, isTerminating, podKey } from '../../core/pods.js';
import { doNotDisruptUntil, isInvalidDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { bindingBudgets } from '../../disruption/candidates/pod-budgets.js';
import type { DrainActivities, DrainBlocker, DrainInput, DrainProgress } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { Blockers, evictionBlocker, protectionBlocker, refusalBlocker, terminatingBlocker } from './drain-blockers.js';
import type { Reason } from './drain-blockers.js';
import { EvictionOrder } from './eviction-order.js';
import { inBatches } from '../../core/in-batches.js';
import { instanceIsGone } from './instance-watch.js';
import { labelsOf } from '../../cluster/labels-of.js';
import { tellConditions } from '../claim-status.js';
import { withFailures } from '../to-failure.js';
import { keepMarked, nodesOfDrain } from './mark-nodes.js';
import { awaitVolumes } from './volumes.js';
import { regarding } from '../../core/regarding.js';
import { timeText } from '../../core/time-text.js';

/** A look begins no further eviction after this long: the others have their turn at the next. */
const longestLookMs = 20_000;
/** Rule `termination/five-seconds`: pods that were on their way to the node when it was tainted are seen by then. */
const lastsAtLeastMs = 5000;
/** Evictions under way at a time of pods that no budget counts: kube-scheduler is to keep up with what comes in their place. */
const evictionsAtOnce = 5;
/** So many requests without an answer are an outage. */
const mostFailures = 3;
/** A hold-up is told once it has lasted this long. */
const blockedAfterMs = 5000;
/** Pods that a look names; the others are counted. */
const podsNamed = 5;
const criticalClasses: ReadonlySet<string> = new Set(['system-cluster-critical', 'system-node-critical']);

/** Looks of a drain that may take days (termination/steps). A second attempt finds what the first did. */
export function createDrainActivities(deps: ActivityDeps): DrainActivities {
  return withFailures<DrainActivities>({
    drainNode: (input) => new Drain(deps, input).run(),
    awaitVolumesDetached: (input) => awaitVolumes(deps, input),
  });
}

/** Rule `termination/tiers`: each starts when the one before has left. */
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
  private readonly blockers = new Blockers();
  private readonly order = new EvictionOrder();
  private evicted = 0;
  private readonly failures: Error[] = [];
  private readonly forced: string[] = [];
  /** When something is due that no other change announces, milliseconds of the epoch. */
  private dueAt = Number.POSITIVE_INFINITY;

  /** Its Node's, and that of any other Node of its instance. */
  private readonly nodeNames: readonly string[];

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DrainInput,
  ) {
    this.nodeNames = nodesOfDrain(deps, input);
  }

  async run(): Promise<DrainProgress> {
    await keepMarked(this.deps, this.input);
    const now = this.deps.now();
    let waiting = this.waiting(now);
    if (waiting.length === 0) {
      // Its workflow may go by another clock.
      const notBefore = Math.min(this.input.since, now) + lastsAtLeastMs;
      if (now < notBefore) return this.progress('waiting', [], { dueAt: notBefore });
      waiting = await this.overlooked(now);
      if (waiting.length === 0) return this.done();
    }
    if (await instanceIsGone(this.deps, this.input.nodeName)) {
      return this.progress('done', waiting, { instanceGone: true });
    }
    await this.moveAll(waiting, now);
    return this.told(waiting, now);
  }

  private waiting(now: number): readonly Pod[] {
    const { cache } = this.deps;
    return this.sorted(
      this.nodeNames.flatMap((name) => cache.podsOnNode(name)),
      now,
    );
  }

  /** What the cache has not been told of: the instance ends with the drain, so the API server itself says that it is over. */
  private async overlooked(now: number): Promise<readonly Pod[]> {
    const { kube, log } = this.deps;
    const { nodeName } = this.input;
    const pods: Pod[] = [];
    for (const name of this.nodeNames)
      pods.push(...(await kube.list('Pod', { fieldSelector: `spec.nodeName=${name}` })));
    const waiting = this.sorted(pods, now);
    const fresh = waiting.filter((pod) => !isTerminating(pod));
    if (fresh.length > 0) {
      log.warn({ node: nodeName, pods: fresh.slice(0, 5).map(podKey) }, 'the cache lacks pods that a drain waits for');
    }
    return waiting;
  }

  private sorted(pods: readonly Pod[], now: number): readonly Pod[] {
    const { cache } = this.deps;
    const { nodeName } = this.input;
    const drainable = pods.filter((pod) => isDrainable(pod, now));
    return this.order.sort(drainable, cache.get('Node', { name: nodeName })?.status?.allocatable);
  }

  /** Pods that a budget counts one after the other, since it may let only the first go; the others some at a time. */
  private async moveAll(waiting: readonly Pod[], now: number): Promise<void> {
    const budgets = this.deps.cache.all('PodDisruptionBudget');
    const budgetsOf = new Map(waiting.map((pod) => [pod, bindingBudgets(pod, budgets)]));
    const until = now + longestLookMs;
    const enough = (): boolean => this.deps.now() > until;
    const pass: Pass = { now, tier: Math.min(...waiting.map(tierOf)), budgetsOf };
    for (const pod of waiting) this.noteDue(pod, now);
    const isCounted = (pod: Pod): boolean => budgetsOf.get(pod)!.length > 0;
    await this.moveEach(waiting.filter(isCounted), pass, { atOnce: 1, enough });
    const others = waiting.filter((pod) => !isCounted(pod));
    await this.moveEach(others, pass, { atOnce: evictionsAtOnce, enough });
    const [failed] = this.failures;
    if (failed !== undefined) throw failed;
  }

  /** A pod without an answer holds up none but itself; several in a row are an outage, and nothing is asked any more. */
  private async moveEach(
    pods: readonly Pod[],
    pass: Pass,
    { atOnce, enough }: { readonly atOnce: number; readonly enough: () => boolean },
  ): Promise<void> {
    const isOver = (): boolean => enough() || this.failures.length >= mostFailures;
    const move = async (pod: Pod): Promise<void> => {
      try {
        await this.move(pod, pass);
      } catch (error) {
        this.failures.push(error instanceof Error ? error : new Error(String(error)));
      }
    };
    await inBatches(pods, move, { atOnce, enough: isOver });
  }

  /** From these times on the pod is dealt with otherwise, though nothing about it changes. */
  private noteDue(pod: Pod, now: number): void {
    const { deadline = Number.POSITIVE_INFINITY, instanceEndsAt = Number.POSITIVE_INFINITY } = this.input;
    const grace = graceOf(pod);
    const times = [deadline - grace, instanceEndsAt - grace, doNotDisruptUntil(pod, now) ?? Number.POSITIVE_INFINITY];
    this.dueAt = Math.min(this.dueAt, ...times.filter((at) => at > now).map((at) => at + 1));
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
    const claim = await tellConditions(this.deps, this.input.claim, [{ type: 'Drained', status: 'True' }]);
    this.deps.metrics.count('nodes_drained_total', { nodepool: claim === undefined ? '' : labelsOf(claim).nodePool });
    return this.progress('done', []);
  }

  private progress(
    state: DrainProgress['state'],
    left: readonly Pod[],
    more: Pick<DrainProgress, 'blockers' | 'instanceGone' | 'blockedSince' | 'dueAt'> = {},
  ): DrainProgress {
    return {
      state,
      blockedBy: (more.blockers ?? []).map(({ name }) => name),
      remaining: left.length,
      evicted: this.evicted,
      ...(this.forced.length === 0
        ? {}
        : { forced: { pods: this.forced.slice(0, podsNamed), podCount: this.forced.length } }),
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
      this.forced.push(podKey(pod));
      this.countDrained();
      this.publish(pod, 'Normal', 'Disrupted', 'Deleting the pod to accommodate the terminationTime of the node');
    }
  }

  private async evict(pod: Pod, { now, budgetsOf }: Pass): Promise<void> {
    if (this.isProtected(pod, now)) return;
    const { metrics, kube } = this.deps;
    const blocker = evictionBlocker(pod, budgetsOf.get(pod)!);
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const answer = await this.unlessRefused(pod, () => kube.evict({ namespace, name, uid }));
    if (!('outcome' in answer)) {
      metrics.count('pods_eviction_requests_total', { code: '500' });
      this.hold(pod, answer, answer.why);
      return;
    }
    metrics.count('pods_eviction_requests_total', { code: codeOf(answer.outcome, blocker) });
    if (answer.outcome === 'blocked') this.hold(pod, blocker, answer.message);
    if (answer.outcome === 'evicted') {
      this.evicted += 1;
      this.countDrained();
      this.publish(pod, 'Normal', 'Evicted', 'Evicted pod');
    }
  }

  /** By why the node is disrupted (metrics/drained). */
  private countDrained(): void {
    const { cache, metrics } = this.deps;
    const { conditions } = cache.get('NodeClaim', { name: this.input.claim.name })?.status ?? {};
    const disrupted = conditionOf(conditions, 'DisruptionReason');
    metrics.count('pods_drained_total', { reason: disrupted?.status === 'True' ? (disrupted.reason ?? '') : '' });
  }

  private hold(pod: Pod, blocker: Reason, message: string): void {
    this.blockers.add(blocker, pod);
    this.publishNode(`Failed to drain node, ${podKey(pod)}: ${message}`);
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

  /** Rule `termination/do-not-disrupt`: a pod marked do-not-disrupt is waited for; events say until when, and that its time is over. */
  private isProtected(pod: Pod, now: number): boolean {
    const mark = pod.metadata.annotations?.[annotations.doNotDisrupt];
    const until = doNotDisruptUntil(pod, now);
    if (until !== undefined) {
      this.blockers.add(protectionBlocker(pod, until), pod);
      if (Number.isFinite(until)) {
        const end = timeText(until);
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

  /** News are what the workflow does not know yet: a hold-up that lasts, or that one is over. */
  private async told(waiting: readonly Pod[], now: number): Promise<DrainProgress> {
    const blockers = this.blockers.list();
    const { known, blockedSince: since = now } = this.input;
    const due = Number.isFinite(this.dueAt) ? { dueAt: this.dueAt } : {};
    const held = blockers.length === 0 ? {} : { blockedSince: since };
    const isKnown = blockers.map(({ name }) => name).join() === known.join();
    if (isKnown) return this.progress('waiting', waiting, { ...due, ...held });
    if (blockers.length > 0 && now - since < blockedAfterMs) {
      return this.progress('waiting', waiting, { ...held, dueAt: Math.min(this.dueAt, since + blockedAfterMs) });
    }
    await this.showBlockers(blockers);
    return this.progress('blocked', waiting, { blockers, ...due, ...held });
  }

  /** `kubectl describe nodeclaim` says why, for as long as it holds. */
  private async showBlockers(blockers: readonly DrainBlocker[]): Promise<void> {
    const held = blockers.map(blockerText).join('; ');
    const message = held === '' ? 'the node is being drained' : held;
    await tellConditions(this.deps, this.input.claim, [
      { type: 'Drained', status: 'Unknown', reason: 'Draining', message: message.slice(0, 1000) },
    ]);
  }

  private publish(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { name = '', namespace = '', uid } = pod.metadata;
    this.deps.events.publish({
      regarding: regarding('Pod', { name, namespace, uid }),
      type,
      reason,
      message,
    });
  }

  private publishNode(message: string): void {
    this.deps.events.publish({
      regarding: regarding('Node', { name: this.input.nodeName }),
      type: 'Warning',
      reason: 'FailedDraining',
      message,
    });
  }
}

/** How the eviction API answers (metrics/drained): to a pod of several budgets otherwise than to one whose budget allows none now. */
function codeOf(outcome: 'evicted' | 'gone' | 'blocked', { cause }: Reason): string {
  if (outcome !== 'blocked') return '200';
  return cause === 'several-pdbs' ? '500' : '429';
}
