import { blockerText, compareText, counted } from '../../core/text.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { graceOf, isDrainable } from '../../core/pods.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { bindingBudgets } from '../../core/pod-disruption-budgets.js';
import type { DrainActivities, DrainBlocker, DrainInput, DrainProgress, DueInput } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { EvictionOrder, type Pass, PodEvictor, tierOf } from './pod-evictor.js';
import { inBatches } from '../../core/at-once.js';
import { instanceIsGone } from './instance-watch.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { reportConditions } from '../claim-status.js';
import { withFailures } from '../to-failure.js';
import { ensureMarked, nodesOfDrain } from './mark-nodes.js';
import { earlierStampedDeadline } from './stamped-deadline.js';
import type { ConditionChange } from '../../core/conditions.js';
import { volumeClaimName, fullName, isDeleting } from '../../core/names.js';
import { volumeBlockers } from './drain-blockers.js';
import { regarding } from '../../core/events.js';

/** A pass begins no further eviction after this long: the others follow in the next one. */
const longestPassMs = 20_000;
/**
 * Rule `termination/five-seconds`: after this time pods that were being bound to the node when it was tainted are
 * visible.
 */
const lastsAtLeastMs = 5000;
/**
 * Concurrent evictions of pods that no budget counts. Limited, so that kube-scheduler keeps up with the pods that
 * replace them.
 */
const evictionsAtOnce = 5;
/** This many requests without an answer count as an outage. */
const mostFailures = 3;
/** A blocker is reported once it has lasted this long. */
const blockedAfterMs = 5000;
/** Pods that are ending are named if they take longer than this. */
const longGraceMs = 60_000;
/** Pods that a result names; the others are counted. */
const podsNamed = 5;

/** Passes of a drain that may take days (termination/steps). A second attempt continues where the first ended. */
export function createDrainActivities(deps: ActivityDeps): DrainActivities {
  return withFailures<DrainActivities>({
    evictDue: (input) => new Drain(deps, input).evictDue(input),
    drainNode: (input) => byStampedDeadline(deps, input, (own) => new Drain(deps, own).run()),
    awaitVolumesDetached: (input) => byStampedDeadline(deps, input, (own) => awaitVolumes(deps, own)),
  });
}

/**
 * Uses an earlier deadline that was written to the NodeClaim since the drain began (termination/deadline), and returns
 * it.
 */
async function byStampedDeadline(
  { cache }: Pick<ActivityDeps, 'cache'>,
  input: DrainInput,
  pass: (input: DrainInput) => Promise<DrainProgress>,
): Promise<DrainProgress> {
  const claim = cache.get('NodeClaim', { name: input.claim.name });
  const deadline = claim?.metadata.uid === input.claim.uid ? earlierStampedDeadline(claim, input.deadline) : undefined;
  if (deadline === undefined) return pass(input);
  return { ...(await pass({ ...input, deadline })), deadline };
}

class Drain {
  private readonly evictor: PodEvictor;
  private readonly order = new EvictionOrder();
  private readonly failures: Error[] = [];
  /** When the next step is due without any change of the cluster, milliseconds of the epoch. */
  private dueAt = Number.POSITIVE_INFINITY;

  /** Names of the node's Node, and of any other Node of its instance. */
  private readonly nodeNames: readonly string[];

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DrainInput,
  ) {
    this.evictor = new PodEvictor(deps, input);
    this.nodeNames = nodesOfDrain(deps, input);
  }

  async run(): Promise<DrainProgress> {
    await ensureMarked(this.deps, this.input);
    const now = this.deps.now();
    let waiting = this.waiting(now);
    if (waiting.length === 0) {
      // `since` is a time of the workflow's clock, which may differ from this one.
      const notBefore = Math.min(this.input.since, now) + lastsAtLeastMs;
      if (now < notBefore) return this.progress('waiting', [], { dueAt: notBefore });
      waiting = await this.missingInCache(now);
      if (waiting.length === 0) return this.done();
    }
    if (await instanceIsGone(this.deps, this.input.nodeName)) {
      return this.progress('done', waiting, { instanceGone: true });
    }
    await this.moveAll(waiting, now);
    return this.report(waiting, now);
  }

  /**
   * Evicts each pod at its own time, so that a long grace period of one pod does not end the wait of the others for
   * their replacement (interruption/replaced-first).
   */
  async evictDue({ instanceEndsAt, marginMs }: DueInput): ReturnType<DrainActivities['evictDue']> {
    const now = this.deps.now();
    const startOf = (pod: Pod): number => instanceEndsAt - graceOf(pod) - (tierOf(pod) === 0 ? marginMs : 0);
    const staying = this.waiting(now).filter((pod) => !isDeleting(pod));
    await this.moveAll(
      staying.filter((pod) => startOf(pod) < now),
      now,
    );
    const later = staying.map(startOf).filter((at) => at >= now);
    const { evicted, blockers } = this.evictor;
    if (later.length === 0) return { evicted };
    return { evicted, nextAt: Math.min(...later, ...(blockers.list().length > 0 ? [now + blockedAfterMs] : [])) + 1 };
  }

  private waiting(now: number): readonly Pod[] {
    const { cache } = this.deps;
    return this.sorted(
      this.nodeNames.flatMap((name) => cache.podsOnNode(name)),
      now,
    );
  }

  /**
   * Pods that the cache lacks. The instance is terminated after the drain, so the API server is asked before the drain
   * counts as done.
   */
  private async missingInCache(now: number): Promise<readonly Pod[]> {
    const { kube, log } = this.deps;
    const { nodeName } = this.input;
    const pods: Pod[] = [];
    for (const name of this.nodeNames)
      pods.push(...(await kube.list('Pod', { fieldSelector: `spec.nodeName=${name}` })));
    const waiting = this.sorted(pods, now);
    const fresh = waiting.filter((pod) => !isDeleting(pod));
    if (fresh.length > 0) {
      log.warn(
        { node: nodeName, pods: fresh.slice(0, 5).map(fullName) },
        'the cache lacks pods that a drain waits for',
      );
    }
    return waiting;
  }

  private sorted(pods: readonly Pod[], now: number): readonly Pod[] {
    const { cache } = this.deps;
    const { nodeName } = this.input;
    const drainable = pods.filter((pod) => isDrainable(pod, now));
    return this.order.sort(drainable, cache.get('Node', { name: nodeName })?.status?.allocatable);
  }

  /**
   * Pods that a budget counts are evicted one after the other, since it may allow only the first; the others several at
   * a time.
   */
  private async moveAll(waiting: readonly Pod[], now: number): Promise<void> {
    const budgets = this.deps.cache.all('PodDisruptionBudget');
    const budgetsOf = new Map(waiting.map((pod) => [pod, bindingBudgets(pod, budgets)]));
    const until = now + longestPassMs;
    const enough = (): boolean => this.deps.now() > until;
    const pass: Pass = { now, tier: Math.min(...waiting.map(tierOf)), budgetsOf };
    for (const pod of waiting) this.includeDue(pod, now);
    const isCounted = (pod: Pod): boolean => budgetsOf.get(pod)!.length > 0;
    await this.moveEach(waiting.filter(isCounted), pass, { atOnce: 1, enough });
    const others = waiting.filter((pod) => !isCounted(pod));
    await this.moveEach(others, pass, { atOnce: evictionsAtOnce, enough });
    const [failed] = this.failures;
    if (failed !== undefined) throw failed;
  }

  /**
   * A request without an answer only affects its pod. Several such requests are an outage, after which no more are
   * sent.
   */
  private async moveEach(
    pods: readonly Pod[],
    pass: Pass,
    { atOnce, enough }: { readonly atOnce: number; readonly enough: () => boolean },
  ): Promise<void> {
    const isOver = (): boolean => enough() || this.failures.length >= mostFailures;
    const move = async (pod: Pod): Promise<void> => {
      try {
        await this.evictor.move(pod, pass);
      } catch (error) {
        this.failures.push(error instanceof Error ? error : new Error(String(error)));
      }
    };
    await inBatches(pods, move, { atOnce, enough: isOver });
  }

  /** At these times the next step for the pod changes without a change of the pod. */
  private includeDue(pod: Pod, now: number): void {
    const { deadline = Number.POSITIVE_INFINITY, instanceEndsAt = Number.POSITIVE_INFINITY } = this.input;
    const grace = graceOf(pod);
    const times = [deadline - grace, instanceEndsAt - grace, doNotDisruptUntil(pod, now) ?? Number.POSITIVE_INFINITY];
    this.dueAt = Math.min(this.dueAt, ...times.filter((at) => at > now).map((at) => at + 1));
  }

  private async done(): Promise<DrainProgress> {
    const volumesDetached = attachedVolumes(this.deps, this.nodeNames).length === 0;
    const claim = await reportConditions(this.deps, this.input.claim, [
      { type: 'Drained', status: 'True' },
      ...(volumesDetached ? [{ type: 'VolumesDetached', status: 'True' } as const] : []),
    ]);
    this.deps.metrics.count('nodes_drained_total', { nodepool: claim === undefined ? '' : labelsOf(claim).nodePool });
    return { ...this.progress('done', []), ...(volumesDetached ? { volumesDetached } : {}) };
  }

  private progress(
    state: DrainProgress['state'],
    left: readonly Pod[],
    more: Pick<DrainProgress, 'blockers' | 'instanceGone' | 'blockedSince' | 'dueAt' | 'ending'> = {},
  ): DrainProgress {
    const { evicted, forced } = this.evictor;
    return {
      state,
      blockedBy: (more.blockers ?? []).map(({ name }) => name),
      remaining: left.length,
      evicted,
      ...(forced.length === 0 ? {} : { forced: { pods: forced.slice(0, podsNamed), podCount: forced.length } }),
      ...(left.length === 0 ? {} : { longestGraceMs: Math.max(...left.map(graceOf)) }),
      ...more,
    };
  }

  /** `blocked` only if the workflow does not know the blockers yet: a lasting one is new, or a known one is gone. */
  private async report(waiting: readonly Pod[], now: number): Promise<DrainProgress> {
    const blockers = this.evictor.blockers.list();
    const { known, blockedSince: since = now } = this.input;
    const due = Number.isFinite(this.dueAt) ? { dueAt: this.dueAt } : {};
    const held = blockers.length === 0 ? {} : { blockedSince: since };
    const isKnown = blockers.map(({ name }) => name).join() === known.join();
    const ending = blockers.length === 0 ? endingPods(waiting, now) : undefined;
    if (isKnown)
      return this.progress('waiting', waiting, { ...due, ...held, ...(ending === undefined ? {} : { ending }) });
    if (blockers.length > 0 && now - since < blockedAfterMs) {
      return this.progress('waiting', waiting, { ...held, dueAt: Math.min(this.dueAt, since + blockedAfterMs) });
    }
    await this.showBlockers(blockers);
    return this.progress('blocked', waiting, { blockers, ...due, ...held });
  }

  /** Shows the blockers in condition Drained of the NodeClaim, as long as they last. */
  private async showBlockers(blockers: readonly DrainBlocker[]): Promise<void> {
    const held = blockers.map(blockerText).join('; ');
    const message = held === '' ? 'the node is being drained' : held;
    await reportConditions(this.deps, this.input.claim, [
      { type: 'Drained', status: 'Unknown', reason: 'Draining', message: message.slice(0, 1000) },
    ]);
  }
}

/**
 * Pods with a long remaining grace period, which are shown to people (termination/long-grace); undefined if there are
 * none.
 */
function endingPods(waiting: readonly Pod[], now: number): DrainProgress['ending'] {
  const ends = waiting.flatMap((pod) => {
    const until = Date.parse(pod.metadata.deletionTimestamp ?? '');
    return until > now + longGraceMs ? [{ pod: fullName(pod), until }] : [];
  });
  if (ends.length === 0) return undefined;
  return {
    pods: ends
      .map(({ pod }) => pod)
      .sort(compareText)
      .slice(0, podsNamed),
    podCount: ends.length,
    until: Math.max(...ends.map(({ until }) => until)),
  };
}

/**
 * One pass (termination/volumes): volumes of drained pods must be detached. Past the deadline this is not awaited, and
 * a node whose instance is gone has no attached volumes, even if VolumeAttachments remain.
 */
async function awaitVolumes(deps: ActivityDeps, input: DrainInput): Promise<DrainProgress> {
  const { claim, deadline, known, nodeName } = input;
  const done = { state: 'done', blockedBy: [], remaining: 0, evicted: 0 } as const;
  await ensureMarked(deps, input);
  const attached = attachedVolumes(deps, nodesOfDrain(deps, input));
  if (attached.length === 0) {
    await reportConditions(deps, claim, [{ type: 'VolumesDetached', status: 'True' }]);
    return done;
  }
  const blockers = volumeBlockers(attached);
  const message = `waiting for ${counted(attached.length, 'volume')}: ${attached.slice(0, blockers.length).join(', ')}`;
  if (deadline !== undefined && deps.now() >= deadline) {
    await reportConditions(deps, claim, [volumes('False', 'TerminationGracePeriodElapsed', message)]);
    return done;
  }
  if (await instanceIsGone(deps, nodeName)) return { ...done, instanceGone: true };
  const blockedBy = blockers.map(({ name }) => name);
  const due = deadline === undefined ? {} : { dueAt: deadline };
  const left = { blockedBy, remaining: attached.length, evicted: 0, blockers, ...due };
  if (blockedBy.join() === known.join()) return { ...left, state: 'waiting' };
  await reportConditions(deps, claim, [volumes('Unknown', 'AwaitingVolumeDetachment', message)]);
  publish(deps, nodeName, message);
  return { ...left, state: 'blocked' };
}

function publish(deps: ActivityDeps, nodeName: string, message: string): void {
  deps.events.publish({
    regarding: regarding('Node', { name: nodeName }),
    type: 'Normal',
    reason: 'AwaitingVolumeDetachment',
    message: `Awaiting deletion of bound volumeattachments: ${message}`,
    dedupeBy: [nodeName],
  });
}

function volumes(status: Condition['status'], reason: string, message: string): ConditionChange {
  return { type: 'VolumesDetached', status, reason, message };
}

function attachedVolumes(deps: ActivityDeps, nodes: readonly string[]): readonly string[] {
  const staying = new Set<string>();
  for (const pod of nodes.flatMap((name) => deps.cache.podsOnNode(name))) {
    if (isDrainable(pod, deps.now())) continue;
    const namespace = pod.metadata.namespace ?? 'default';
    for (const podVolume of pod.spec.volumes ?? []) {
      const name = volumeClaimName(pod, podVolume);
      if (name === undefined) continue;
      const volume = deps.cache.get('PersistentVolumeClaim', { name, namespace })?.spec.volumeName;
      if (volume !== undefined) staying.add(volume);
    }
  }
  return deps.cache
    .all('VolumeAttachment')
    .filter(({ spec }) => nodes.includes(spec.nodeName))
    .map(({ spec }) => spec.source.persistentVolumeName)
    .filter((name) => name !== undefined)
    .filter((name) => !staying.has(name))
    .sort();
}
