import { cancellationSignal } from '@temporalio/activity';
import type { Plan } from '../packing/types.js';
import type { EventToPublish } from '../kube/port.js';
import type { CacheMark } from '../workflows/messages.js';
import { writeBufferStatus } from './buffers.js';
import { managedPools, unlaunchedClaim } from './cluster.js';
import { claimPlans } from './claim-plans.js';
import type { PlanningActivities, PlanNodesInput, PlanNodesResult } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { explainPod } from './explain-pod.js';
import { leavingPlans } from './leaving-plans.js';
import { learnMemory } from './learn-memory.js';
import { packingInput } from './packing-input.js';
import { notePlannedPods } from './planned-pods.js';
import { withFailures } from './to-failure.js';

/** A pass that finds state missing waits this long for it before it says so. */
const settleMs = 20_000;
/** Bounds of one plan's payload: the rest is planned in the next pass. */
const claimsPerPass = 200;
const podNamesPerPass = 2000;
/** Events for pods that found no place, in one pass. */
const failuresPublished = 100;

/** Packs pending pods from the cluster cache (section 2). Decides, publishes events and says on CapacityBuffers what became of them. */
export function createPlanningActivities(deps: ActivityDeps): PlanningActivities {
  return withFailures<PlanningActivities>({
    planNodes: (input) => planNodes(deps, input),
    explainPod: (input) => explainPod(deps, input),
  });
}

async function planNodes(deps: ActivityDeps, input: PlanNodesInput): Promise<PlanNodesResult> {
  const missing = await awaitSynced(deps, input.marks);
  if (missing !== undefined) return { state: 'notReady', reason: missing };
  const pools = managedPools(deps);
  const started = deps.now();
  await deps.offerings.refresh();
  learnMemory(deps);
  const packing = await packingInput(deps, pools, input.without);
  const plan = await deps.packer.plan(packing);
  const seconds = (deps.now() - started) / 1000;
  deps.metrics.observe('scheduler_scheduling_duration_seconds', { controller: 'provisioner' }, seconds);
  deps.metrics.set('scheduler_unschedulable_pods_count', { controller: 'provisioner' }, plan.unschedulable.length);
  publish(deps, plan);
  await writeBufferStatus(deps, plan);
  await notePlannedPods(deps, plan);
  return compact(deps, plan, input.without);
}

/** Own writes must have come back, and every claim must know its instance: else pods are planned for twice. */
async function awaitSynced(deps: ActivityDeps, marks: readonly CacheMark[]): Promise<string | undefined> {
  const signal = AbortSignal.any([cancellationSignal(), AbortSignal.timeout(settleMs)]);
  try {
    for (const { kind, name, resourceVersion } of marks) {
      await deps.cache.caughtUp(kind, { name }, resourceVersion, signal);
    }
    await deps.cache.until(() => deps.cache.synced && unlaunchedClaim(deps) === undefined, signal);
    return undefined;
  } catch (error) {
    if (!signal.aborted || cancellationSignal().aborted) throw error;
    const claim = unlaunchedClaim(deps);
    return claim === undefined ? 'the cluster cache to catch up' : `NodeClaim ${claim} to get its instance`;
  }
}

function publish(deps: ActivityDeps, plan: Plan): void {
  for (const { pod, reason } of plan.unschedulable.slice(0, failuresPublished)) {
    publishPod(deps, pod, {
      type: 'Warning',
      reason: 'FailedScheduling',
      message: `Failed to schedule pod, ${reason}`,
      dedupeMs: 300_000,
      dedupeBy: [pod],
    });
  }
  for (const { node, pods } of plan.existingNodes) {
    // A node that is still to come goes by its claim's name.
    const kind = deps.cache.get('Node', { name: node }) === undefined ? 'nodeclaim' : 'node';
    for (const pod of pods)
      publishPod(deps, pod, {
        type: 'Normal',
        reason: 'Nominated',
        message: `Pod should schedule on: ${kind}/${node}`,
      });
  }
}

function publishPod(deps: ActivityDeps, key: string, event: Omit<EventToPublish, 'regarding'>): void {
  const [namespace = '', name = ''] = key.split('/');
  const uid = deps.cache.get('Pod', { namespace, name })?.metadata.uid;
  // Pods that stand for a CapacityBuffer exist in the plan alone.
  if (uid === undefined) return;
  const regarding = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
  deps.events.publish({ ...event, regarding });
}

function compact(deps: ActivityDeps, plan: Plan, without: readonly string[]): PlanNodesResult {
  const { claims, typeLists } = claimPlans(plan.newNodeClaims.slice(0, claimsPerPass), podNamesPerPass);
  const [first] = plan.unschedulable;
  const leaving = leavingPlans(deps, plan, without, claims.length);
  return {
    state: 'planned',
    claims,
    typeLists,
    nominated: plan.existingNodes.filter(({ pods }) => pods.length > 0).map(({ node }) => node),
    onExistingNodes: plan.existingNodes.reduce((sum, { pods }) => sum + pods.length, 0),
    unschedulable: plan.unschedulable.length,
    ...(first === undefined ? {} : { firstReason: `${first.pod}: ${first.reason}` }),
    unplacedLeaving: leaving.reduce((sum, { unplaced }) => sum + unplaced, 0),
    ...(without.length === 0 ? {} : { leaving }),
    pricePerHour: plan.pricePerHour,
    lowerBoundPerHour: plan.lowerBoundPerHour,
    more: plan.newNodeClaims.length > claimsPerPass,
    nominationMs: deps.nominationMs,
  };
}
