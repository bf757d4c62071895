import { cancellationSignal } from '@temporalio/activity';
import type { Plan } from '../../packing/types.js';
import type { EventToPublish } from '../../kube/port.js';
import type { CacheMark } from '../../workflows/messages.js';
import { writeBufferStatus } from './buffers.js';
import { managedPools, unlaunchedClaims } from '../../cluster/cluster.js';
import { claimPlans } from './claim-plans.js';
import type { PlanningActivities, PlanNodesInput, PlanNodesResult } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { deletingNodePlans } from './deleting-node-plans.js';
import { learnCapacity } from '../../cluster/learn-capacity.js';
import { packingInput } from '../../cluster/packing-input.js';
import { preferencesHonoured } from './ignored-preferences.js';
import { notePlannedPods } from '../../cluster/planned-pods.js';
import { excludedText, publishExcluded } from '../publish-excluded.js';
import { withFailures } from '../to-failure.js';
import { failedToScheduleText, nominatedText, regarding } from '../../core/events.js';
import { isPending } from '../../core/pods.js';
import { refusalsInForce, refusalText } from '../../cluster/refused-pods.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { forgetBoundPods, recordRefusedPods, withBackOff } from './refusals.js';
import { conditionOf } from '../../core/conditions.js';
import { fullName } from '../../core/names.js';

interface WaitLimits {
  /** How long to wait for the instance of a NodeClaim, from when it was first seen here. */
  readonly totalMs: number;
  /** How long one call waits, because it occupies a worker of the packing queue. */
  readonly perCallMs: number;
}

/**
 * Waits for NodeClaims whose instance is still being launched, because their capacity is known then. After the timeout
 * a NodeClaim is not waited for again: until it has its instance it counts as a node with room for what it was created
 * for, so that one slow launch does not block other pods.
 */
export class AwaitedInstances {
  /** When claims without an instance were first seen, by UID. */
  private readonly seenAt = new Map<string, number>();

  constructor(
    private readonly deps: Pick<ActivityDeps, 'cloud' | 'cache' | 'now'>,
    private readonly limits: WaitLimits,
  ) {}

  /** Names of the NodeClaims still to wait for, after a short wait. Rejects when `signal` aborts. */
  async missing(signal: AbortSignal): Promise<readonly string[]> {
    const timeout = AbortSignal.timeout(this.limits.perCallMs);
    try {
      await this.deps.cache.until(() => this.awaited().length === 0, AbortSignal.any([signal, timeout]));
      return [];
    } catch (error) {
      if (!timeout.aborted || signal.aborted) throw error;
      return this.awaited();
    }
  }

  private awaited(): readonly string[] {
    const now = this.deps.now();
    const unlaunched = unlaunchedClaims(this.deps).map(({ metadata: { name = '', uid = '' } }) => ({ name, uid }));
    const uids = new Set(unlaunched.map(({ uid }) => uid));
    for (const uid of this.seenAt.keys()) if (!uids.has(uid)) this.seenAt.delete(uid);
    for (const uid of uids) if (!this.seenAt.has(uid)) this.seenAt.set(uid, now);
    const isAwaited = (uid: string): boolean => now - (this.seenAt.get(uid) ?? now) < this.limits.totalMs;
    return unlaunched.filter(({ uid }) => isAwaited(uid)).map(({ name }) => name);
  }
}

/** If the readiness of NodePools is unknown for longer, pods get events. */
const settlingMs = 60_000;

/**
 * Whether no NodePool is ready and the readiness of some is not known yet, as just after their creation: pods that find
 * no node then have not failed to be scheduled (scheduling/no-ready-node-pool).
 */
export function areSettling(pools: readonly NodePool[], now: number): boolean {
  const launching = pools.filter(({ spec }) => spec.replicas === undefined);
  return !launching.some(isReady) && launching.some((pool) => isSettling(pool, now));
}

const readyOf = ({ status }: NodePool) => conditionOf(status?.conditions, 'Ready');

const isReady = (pool: NodePool): boolean => readyOf(pool)?.status === 'True';

function isSettling(pool: NodePool, now: number): boolean {
  const ready = readyOf(pool);
  if (ready !== undefined && ready.status !== 'Unknown') return false;
  const since = ready?.lastTransitionTime ?? pool.metadata.creationTimestamp ?? '';
  return now - Date.parse(since) < settlingMs;
}

/**
 * How long to wait for instances of NodeClaims in total and per call. A call occupies a worker, so calls are short and
 * the workflow waits between them.
 */
const waitLimits = { totalMs: 5_000, perCallMs: 500 };
/** Bounds of one plan's payload: the rest is planned in the next pass. */
const claimsPerPass = 200;
const podNamesPerPass = 2000;
/** Events for pods that found no place, in one pass. */
const failuresPublished = 100;

/** Published once a day, because it stays true while the pod has so many preferences. */
const preferencesDedupeMs = 86_400_000;

/**
 * Packs pending pods from the watch cache (docs/behaviour/scheduling.md). Plans, publishes events and writes the status
 * of CapacityBuffers; creates nothing.
 */
export function createPlanningActivities(deps: ActivityDeps): PlanningActivities {
  const launches = new AwaitedInstances(deps, waitLimits);
  return withFailures<PlanningActivities>({
    planNodes: (input) => planNodes(deps, launches, input),
  });
}

async function planNodes(
  deps: ActivityDeps,
  launches: AwaitedInstances,
  input: PlanNodesInput,
): Promise<PlanNodesResult> {
  if (!(await hasCaughtUp(deps, input.marks))) return { state: 'notReady', reason: 'the cluster cache to catch up' };
  const missing = await launches.missing(cancellationSignal());
  if (missing.length > 0) return { state: 'notReady', reason: `the instances of ${listed(missing)}` };
  const pools = managedPools(deps).map((pool) => withBackOff(deps, pool, input.resting ?? []));
  const started = deps.now();
  await deps.offerings.refresh();
  learnCapacity(deps);
  await forgetBoundPods(deps);
  let plan = await pack(deps, pools, input);
  if ((await recordRefusedPods(deps, plan)).isOutdated) plan = await pack(deps, pools, input);
  const seconds = (deps.now() - started) / 1000;
  deps.metrics.observe('scheduler_scheduling_duration_seconds', { controller: 'provisioner' }, seconds);
  deps.metrics.set('scheduler_unschedulable_pods_count', { controller: 'provisioner' }, plan.unschedulable.length);
  publishExcluded(deps, 'Planning', plan.setAside);
  publish(deps, plan, areSettling(pools, deps.now()));
  await writeBufferStatus(deps, plan);
  await notePlannedPods(deps, plan);
  return compact(deps, plan, input.without);
}

async function pack(
  deps: ActivityDeps,
  pools: readonly NodePool[],
  { without, resume }: PlanNodesInput,
): Promise<Plan> {
  const packing = await packingInput(deps, pools, without);
  return deps.packer.plan(resume === undefined ? packing : { ...packing, resume });
}

/** Names, the first few of many. */
function listed(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return `${names.slice(0, 3).join(', ')}${more}`;
}

/** Whether the watch cache has Stowage's own writes: otherwise pods would be planned for twice. */
async function hasCaughtUp(deps: ActivityDeps, marks: readonly CacheMark[]): Promise<boolean> {
  const signal = AbortSignal.any([cancellationSignal(), AbortSignal.timeout(waitLimits.perCallMs)]);
  try {
    for (const { kind, name, resourceVersion } of marks) {
      await deps.cache.caughtUp(kind, { name }, resourceVersion, signal);
    }
    await deps.cache.until(() => deps.cache.synced, signal);
    return true;
  } catch (error) {
    if (!signal.aborted || cancellationSignal().aborted) throw error;
    return false;
  }
}

function publish(deps: ActivityDeps, plan: Plan, isSettling: boolean): void {
  for (const { pod, reason } of [...refusedNow(deps), ...(isSettling ? [] : plan.unschedulable)].slice(
    0,
    failuresPublished,
  )) {
    publishPod(deps, pod, {
      type: 'Warning',
      reason: 'FailedScheduling',
      message: failedToScheduleText(reason),
      dedupeMs: 300_000,
      // Another reason gets another event, because the first is often that nothing is ready yet.
      dedupeBy: [pod, reason],
    });
  }
  for (const { pod, honoured, ignored } of (plan.ignoredPreferences ?? []).slice(0, failuresPublished)) {
    publishPod(deps, pod, {
      type: 'Warning',
      reason: 'PreferencesIgnored',
      message: `Planning ignores ${ignored} of ${honoured + ignored} preferences: ${preferencesHonoured(honoured)}`,
      dedupeMs: preferencesDedupeMs,
      dedupeBy: [pod],
    });
  }
  for (const { node, pods } of plan.existingNodes) {
    // A planned node without a Node has the name of its NodeClaim.
    const kind = deps.cache.get('Node', { name: node }) === undefined ? 'nodeclaim' : 'node';
    for (const pod of pods)
      publishPod(deps, pod, {
        type: 'Normal',
        reason: 'Nominated',
        message: nominatedText(kind, node),
      });
  }
}

/** Pods for which nothing is planned now, because kube-scheduler refused nodes that were launched for them. */
function refusedNow(deps: ActivityDeps): readonly { readonly pod: string; readonly reason: string }[] {
  const refusalOf = refusalsInForce(deps);
  return deps.cache.all('Pod').flatMap((pod) => {
    const refusal = isPending(pod) ? refusalOf(pod) : undefined;
    return refusal === undefined ? [] : [{ pod: fullName(pod), reason: refusalText(refusal) }];
  });
}

function publishPod(deps: ActivityDeps, key: string, event: Omit<EventToPublish, 'regarding'>): void {
  const [namespace = '', name = ''] = key.split('/');
  const uid = deps.cache.get('Pod', { namespace, name })?.metadata.uid;
  // Virtual pods of a CapacityBuffer exist only in the plan.
  if (uid === undefined) return;
  deps.events.publish({ ...event, regarding: regarding('Pod', { name, namespace, uid }) });
}

function compact(deps: ActivityDeps, plan: Plan, without: readonly string[]): PlanNodesResult {
  const { claims, typeLists } = claimPlans(plan.newNodeClaims.slice(0, claimsPerPass), podNamesPerPass);
  const [first] = plan.unschedulable;
  const deleting = deletingNodePlans(deps, plan, without, claims.length);
  return {
    state: 'planned',
    claims,
    typeLists,
    onExistingNodes: plan.existingNodes.reduce((sum, { pods }) => sum + pods.length, 0),
    unschedulable: plan.unschedulable.length,
    ...(first === undefined ? {} : { firstReason: `${first.pod}: ${first.reason}` }),
    deferred: plan.deferred?.length ?? 0,
    ...(plan.setAside === undefined ? {} : { leftOut: excludedText(plan.setAside) }),
    ...(plan.resume === undefined ? {} : { resume: plan.resume }),
    unplacedOfDeletingNodes: deleting.reduce((sum, { unplaced }) => sum + unplaced, 0),
    ...(without.length === 0 ? {} : { deleting }),
    pricePerHour: plan.pricePerHour,
    lowerBoundPerHour: plan.lowerBoundPerHour,
    more: plan.newNodeClaims.length > claimsPerPass,
  };
}
