import type { Pod, PodDisruptionBudget, ResourceList } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import { doNotDisruptUntil, isInvalidDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { isDomainError } from '../../core/failures.js';
import { graceOf, isOwnedBy } from '../../core/pods.js';
import { regarding } from '../../core/events.js';
import { timeText } from '../../core/time.js';
import type { ActivityDeps } from '../deps.js';
import type { DrainInput } from './contract.js';
import {
  Blockers,
  evictionBlocker,
  protectionBlocker,
  type Reason,
  refusalBlocker,
  terminatingBlocker,
} from './drain-blockers.js';
import { compareText } from '../../core/text.js';
import { parseResources } from '../../core/quantities.js';
import { podRequests, QuantityReader } from '../../packing/compile/pod-requests.js';
import { lookUp } from '../../core/own.js';
import { fullName, isDeleting } from '../../core/names.js';

/**
 * The order in which the pods of a node are evicted. Pods with the longest grace period come first: where a budget
 * allows only one pod at a time, the drain then ends soonest. With equal grace periods, pods with the largest requests
 * come first: their replacements find room while there is some, and smaller pods fill the gaps.
 */
export class EvictionOrder {
  private readonly quantities = new QuantityReader();
  private readonly shares = new Map<string, number>();

  sort(pods: readonly Pod[], allocatable: ResourceList | undefined): Pod[] {
    const whole = parseResources(allocatable);
    return [...pods].sort(
      (a, b) =>
        graceOf(b) - graceOf(a) ||
        this.shareOf(b, whole) - this.shareOf(a, whole) ||
        compareText(fullName(a), fullName(b)),
    );
  }

  /** The largest share of any of the node's resources that the pod requests. */
  private shareOf({ metadata, spec }: Pod, whole: Readonly<Record<string, number>>): number {
    const uid = metadata.uid ?? '';
    let share = this.shares.get(uid);
    if (share === undefined) {
      share = 0;
      for (const [name, amount] of podRequests(spec, this.quantities)) {
        const there = lookUp(whole, name) ?? 0;
        if (there > 0) share = Math.max(share, amount / there);
      }
      this.shares.set(uid, share);
    }
    return share;
  }
}

const criticalClasses: ReadonlySet<string> = new Set(['system-cluster-critical', 'system-node-critical']);

/** Rule `termination/tiers`: a tier starts when the pods of the previous one have left. */
export function tierOf(pod: Pod): number {
  const critical = criticalClasses.has(pod.spec.priorityClassName ?? '') ? 2 : 0;
  return critical + (isOwnedBy(pod, 'DaemonSet.apps') ? 1 : 0);
}

/** One pass over the pods of the node. */
export interface Pass {
  readonly now: number;
  /** The first tier that has pods left. */
  readonly tier: number;
  readonly budgetsOf: ReadonlyMap<Pod, readonly PodDisruptionBudget[]>;
}

/** Evicts the pods of a node one by one, and collects what blocks them. */
export class PodEvictor {
  readonly blockers = new Blockers();
  /** How many pods were evicted or deleted. */
  evicted = 0;
  /** Pods that were deleted without the eviction API, `namespace/name`. */
  readonly forced: string[] = [];

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DrainInput,
  ) {}

  /** Takes the next step with one pod: a forced deletion, an eviction when its tier has come, or nothing yet. */
  async move(pod: Pod, pass: Pass): Promise<void> {
    const { now, tier } = pass;
    if (this.isOverdue(pod, now)) return this.forceDelete(pod, now);
    if (isDeleting(pod)) {
      const late = terminatingBlocker(pod, now);
      if (late !== undefined) this.blockers.add(late, pod);
      return;
    }
    if (tierOf(pod) === tier || this.isShortOfTime(pod, now)) await this.evict(pod, pass);
  }

  /** After this time the pod would not have its full grace period before the deadline, so its protection ends. */
  private isOverdue(pod: Pod, now: number): boolean {
    const { deadline } = this.input;
    if (deadline === undefined) return false;
    const deletion = pod.metadata.deletionTimestamp;
    return deletion === undefined ? now > deadline - graceOf(pod) : Date.parse(deletion) > deadline;
  }

  /** The cloud takes the instance: if the pod waited longer for its tier, it would not have its full grace period. */
  private isShortOfTime(pod: Pod, now: number): boolean {
    const { instanceEndsAt } = this.input;
    return instanceEndsAt !== undefined && now > instanceEndsAt - graceOf(pod);
  }

  /**
   * Deletes the pod in spite of its protection, so it is first read from the API server: after a restore from a backup
   * the pod may be pending again, or on another node, while the cache still has it here.
   */
  private async forceDelete(pod: Pod, now: number): Promise<void> {
    const { name = '', namespace = '', uid } = pod.metadata;
    const { kube } = this.deps;
    const gracePeriodSeconds = Math.max(1, Math.floor(((this.input.deadline ?? now) - now) / 1000));
    const options = { gracePeriodSeconds, ...(uid === undefined ? {} : { uid }) };
    const outcome = await this.unlessRefused(pod, async () => {
      const live = await kube.get('Pod', { name, namespace });
      if (live?.metadata.uid !== uid || live?.spec.nodeName !== pod.spec.nodeName) return 'gone';
      return kube.delete('Pod', { name, namespace }, options);
    });
    if (typeof outcome === 'object') this.blockers.add(outcome, pod);
    if (outcome === 'deleted' && !isDeleting(pod)) {
      this.evicted += 1;
      this.forced.push(fullName(pod));
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

  /** Counts the pod by the reason of the node's disruption (metrics/drained). */
  private countDrained(): void {
    const { cache, metrics } = this.deps;
    const { conditions } = cache.get('NodeClaim', { name: this.input.claim.name })?.status ?? {};
    const disrupted = conditionOf(conditions, 'DisruptionReason');
    metrics.count('pods_drained_total', { reason: disrupted?.status === 'True' ? (disrupted.reason ?? '') : '' });
  }

  private hold(pod: Pod, blocker: Reason, message: string): void {
    this.blockers.add(blocker, pod);
    this.publishNode(`Failed to drain node, ${fullName(pod)}: ${message}`);
  }

  /**
   * The answer of the API server, or its refusal for this pod. An admission webhook may refuse for any time, which
   * delays no other pod. Without an answer, or if requests are throttled, the attempt fails.
   */
  private async unlessRefused<T>(pod: Pod, ask: () => Promise<T>): Promise<T | Reason> {
    try {
      return await ask();
    } catch (error) {
      if (!isDomainError(error) || error.type === 'Throttled' || error.details.status === undefined) throw error;
      return refusalBlocker(pod, error.message);
    }
  }

  /**
   * Rule `termination/do-not-disrupt`: a pod marked do-not-disrupt is waited for; events show until when, and that its
   * time is over.
   */
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

/**
 * The status code of the eviction API (metrics/drained): 500 for a pod of several budgets, 429 if its budget allows no
 * eviction now.
 */
function codeOf(outcome: 'evicted' | 'gone' | 'blocked', { cause }: Reason): string {
  if (outcome !== 'blocked') return '200';
  return cause === 'several-pdbs' ? '500' : '429';
}
