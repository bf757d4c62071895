import { cancellationSignal, sleep } from '@temporalio/activity';
import type { Condition, Pod, PodDisruptionBudget } from '../api/kubernetes.js';
import type { ConditionChange } from '../core/conditions.js';
import {
  bindingBudgets,
  doNotDisruptUntil,
  isDrainable,
  isInvalidDoNotDisrupt,
  isOwnedBy,
  isTerminating,
  podKey,
} from '../disruption/pods.js';
import type { DrainActivities, DrainInput, DrainProgress } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { setConditions } from './launch.js';
import { withFailures } from './to-failure.js';

const lookMs = 1000;
const defaultGraceSeconds = 30;
/** A hold-up is told once it has lasted this long. */
const blockedAfterMs = 5000;
const blockersTold = 5;
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

class Drain {
  private readonly backoff = new Map<string, { readonly until: number; readonly delay: number }>();
  /** What holds pods up, by pod key. */
  private readonly blockers = new Map<string, string>();
  private blockedSince: number | undefined;
  private evicted = 0;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DrainInput,
  ) {}

  async run(): Promise<DrainProgress> {
    for (;;) {
      const now = this.deps.now();
      const waiting = this.deps.cache.podsOnNode(this.input.nodeName).filter((pod) => isDrainable(pod, now));
      if (waiting.length === 0) return await this.done();
      this.blockers.clear();
      const overdue = waiting.filter((pod) => this.isOverdue(pod, now));
      for (const pod of overdue) await this.forceDelete(pod, now);
      const tier = Math.min(...waiting.map(tierOf));
      for (const pod of waiting) {
        if (tierOf(pod) !== tier || overdue.includes(pod) || isTerminating(pod)) continue;
        await this.evict(pod, now);
      }
      const news = this.news(now);
      if (news !== undefined) {
        return { state: 'blocked', blockedBy: news, remaining: waiting.length, evicted: this.evicted };
      }
      await this.untilChange();
    }
  }

  private async done(): Promise<DrainProgress> {
    await setConditions(this.deps, this.input.claim, [{ type: 'Drained', status: 'True' }]);
    this.deps.metrics.count('nodes_drained_total', {});
    return { state: 'done', blockedBy: [], remaining: 0, evicted: this.evicted };
  }

  /** Past this a pod would not have its grace before the deadline, so its protection ends now. */
  private isOverdue(pod: Pod, now: number): boolean {
    const { deadline } = this.input;
    if (deadline === undefined) return false;
    const deletion = pod.metadata.deletionTimestamp;
    if (deletion !== undefined) return Date.parse(deletion) > deadline;
    const grace = pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    return now > deadline - grace * 1000;
  }

  private async forceDelete(pod: Pod, now: number): Promise<void> {
    const { name = '', namespace = '', uid } = pod.metadata;
    const gracePeriodSeconds = Math.max(1, Math.floor(((this.input.deadline ?? now) - now) / 1000));
    const outcome = await this.deps.kube.delete(
      'Pod',
      { name, namespace },
      { gracePeriodSeconds, ...(uid === undefined ? {} : { uid }) },
    );
    if (outcome === 'deleted' && !isTerminating(pod)) {
      this.evicted += 1;
      this.publish(pod, 'Normal', 'Disrupted', 'Deleting the pod to accommodate the terminationTime of the node');
    }
  }

  private async evict(pod: Pod, now: number): Promise<void> {
    const key = podKey(pod);
    if (doNotDisruptUntil(pod, now) !== undefined) {
      this.blockers.set(key, `pod/${key} (do-not-disrupt)`);
      return;
    }
    if (isInvalidDoNotDisrupt(pod)) {
      this.publish(pod, 'Warning', 'InvalidDoNotDisruptAnnotation', 'do-not-disrupt is neither true nor a duration');
    }
    const wait = this.backoff.get(key);
    const binding = bindingBudgets(pod, this.deps.cache.all('PodDisruptionBudget'));
    if (wait !== undefined && wait.until > now) {
      this.blockers.set(key, nameOfBlocker(binding, key));
      return;
    }
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const answer = await this.deps.kube.evict({ namespace, name, uid });
    this.deps.metrics.count('pods_eviction_requests_total', { code: answer.outcome === 'blocked' ? '429' : '200' });
    if (answer.outcome === 'blocked') {
      const delay = Math.min(10_000, (wait?.delay ?? 50) * 2);
      this.backoff.set(key, { until: now + delay, delay });
      this.blockers.set(key, nameOfBlocker(binding, key));
      this.publishNode(`Failed to drain node, ${key}: ${answer.message}`);
      return;
    }
    if (answer.outcome === 'evicted') {
      this.evicted += 1;
      this.deps.metrics.count('pods_drained_total', { reason: '' });
      this.publish(pod, 'Normal', 'Evicted', 'Evicted pod');
    }
  }

  /** What the workflow does not know yet: a hold-up that lasts, or that one is over. */
  private news(now: number): readonly string[] | undefined {
    const blockers = [...new Set(this.blockers.values())].sort().slice(0, blockersTold);
    if (blockers.length === 0) {
      this.blockedSince = undefined;
      return this.input.known.length > 0 ? [] : undefined;
    }
    this.blockedSince ??= now;
    if (blockers.join() === this.input.known.join()) return undefined;
    return now - this.blockedSince >= blockedAfterMs ? blockers : undefined;
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

function nameOfBlocker(binding: readonly PodDisruptionBudget[], pod: string): string {
  const [only] = binding;
  if (only === undefined) return `pod/${pod}`;
  return `pdb/${only.metadata.namespace ?? 'default'}/${only.metadata.name ?? ''}`;
}

/** Section 4.14, step 3: volumes of pods that were drained must let go; past the deadline nobody waits. */
async function awaitVolumes(deps: ActivityDeps, input: DrainInput): Promise<DrainProgress> {
  const { claim, deadline, known } = input;
  for (;;) {
    const attached = attachedVolumes(deps, input.nodeName);
    const done = { state: 'done', blockedBy: [], remaining: 0, evicted: 0 } as const;
    if (attached.length === 0) {
      await setConditions(deps, claim, [{ type: 'VolumesDetached', status: 'True' }]);
      return done;
    }
    const blockedBy = attached.slice(0, blockersTold).map((name) => `volume/${name}`);
    const message = `waiting for ${attached.length} volumes: ${attached.slice(0, blockersTold).join(', ')}`;
    if (deadline !== undefined && deps.now() >= deadline) {
      await setConditions(deps, claim, [volumes('False', 'TerminationGracePeriodElapsed', message)]);
      return done;
    }
    if (blockedBy.join() !== known.join()) {
      await setConditions(deps, claim, [volumes('Unknown', 'AwaitingVolumeDetachment', message)]);
      return { state: 'blocked', blockedBy, remaining: attached.length, evicted: 0 };
    }
    await sleep(lookMs);
  }
}

function volumes(status: Condition['status'], reason: string, message: string): ConditionChange {
  return { type: 'VolumesDetached', status, reason, message };
}

function attachedVolumes(deps: ActivityDeps, nodeName: string): readonly string[] {
  const staying = new Set<string>();
  for (const pod of deps.cache.podsOnNode(nodeName)) {
    if (isDrainable(pod, deps.now())) continue;
    for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
      if (persistentVolumeClaim === undefined) continue;
      const ref = { name: persistentVolumeClaim.claimName, namespace: pod.metadata.namespace ?? 'default' };
      const volume = deps.cache.get('PersistentVolumeClaim', ref)?.spec.volumeName;
      if (volume !== undefined) staying.add(volume);
    }
  }
  return deps.cache
    .all('VolumeAttachment')
    .filter(({ spec }) => spec.nodeName === nodeName)
    .map(({ spec }) => spec.source.persistentVolumeName)
    .filter((name) => name !== undefined)
    .filter((name) => !staying.has(name))
    .sort();
}
