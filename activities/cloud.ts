import { ApplicationFailure } from '@temporalio/common';
import { activityInfo, sleep } from '@temporalio/activity';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations, labels } from '../api/labels.js';
import type { CloudProvider, LaunchRequest, NodeClass } from '../cloud/port.js';
import { failures, isDomainError } from '../core/failures.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import { launchToken } from '../core/ids.js';
import { graceOf, isDrainable, isReschedulable } from '../disruption/pods.js';
import { policyOf } from '../disruption/policies.js';
import type { Kind } from '../kube/port.js';
import type { ClaimRef } from '../workflows/messages.js';
import type { CloudActivities, InstanceView, LaunchInstanceResult } from './contract.js';
import { cataloguesOf, managedClaims, managedPools, nodeClassOf, nodeOf, poolOf } from './cluster.js';
import type { ActivityDeps } from './deps.js';
import { overlaid, overlaysInEffect } from './overlays.js';
import { collectClaims, collectInstances } from './garbage.js';
import { interruptionEvents } from './interruption-events.js';
import { regardingClaim, setConditions } from './launch.js';
import { identityOf, labelsOf } from './labels-of.js';
import { withFailures } from './to-failure.js';
import { getClaim, updateClaim } from './writes.js';

const reservationLabel = 'karpenter.k8s.aws/capacity-reservation-id';
const pollMs = 5000;
/** A claim older than this may have a history that nobody here knows. */
const youngMs = 120_000;
/** Karpenter cuts the message of a failed launch here. */
const longestMessage = 300;

/** Activities on the cloud. What EC2 did is asked of EC2, so each may run again after a crash (invariant 1). */
export function createCloudActivities(deps: ActivityDeps): CloudActivities {
  return withFailures<CloudActivities>({
    launchInstance: ({ claim }) => launch(deps, claim),
    tagInstance: (input) => tag(deps, input),
    terminateInstance: async ({ providerId }) => {
      const state = await deps.cloud.terminate(providerId);
      deps.log.info({ providerId, state }, 'terminating an instance');
      return { state };
    },
    rebootInstance: async ({ claim, providerId }) => {
      const state = (await deps.cloud.rebootInstance?.(providerId)) ?? 'unsupported';
      deps.log.info({ nodeClaim: claim.name, providerId, state }, 'rebooting an instance');
      return { state };
    },
    findInstance: async ({ providerId }) => ({
      state: (await deps.cloud.get(providerId)) === undefined ? 'gone' : 'there',
    }),
    awaitInstanceGone: async ({ providerId }) => {
      while ((await deps.cloud.get(providerId)) !== undefined) {
        await sleep(pollMs);
      }
    },
    inspectInstance: (input) => inspect(deps, input),
    refreshCatalogue: async () => deps.cloud.refresh?.(),
    sweepCloud: () => sweep(deps),
    collectInstances: () => collectInstances(deps),
    collectClaims: () => collectClaims(deps),
  });
}

async function launch(deps: ActivityDeps, ref: ClaimRef): Promise<LaunchInstanceResult> {
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { state: 'gone' };
  const request = await requestFor(deps, claim);
  if (typeof request === 'string') return { state: 'refused', reason: 'insufficient_capacity', message: request };
  await deps.offerings.refresh();
  try {
    const result = await deps.cloud.launch(request);
    await report(deps, result);
    if (result.ok) {
      const { instanceId, instanceType, zone, capacityType } = result.value;
      deps.log.info({ nodeClaim: ref.name, instanceId, instanceType, zone, capacityType }, 'launched an instance');
      return { state: 'launched', instance: result.value };
    }
    const reason = result.error.kind === 'InsufficientCapacity' ? 'insufficient_capacity' : 'nodeclass_not_ready';
    return { state: 'refused', reason, message: result.error.message };
  } catch (error) {
    throw await launchFailed(deps, ref, error);
  }
}

/** What the cloud said of its offerings is known to every worker before the claim's fate is. */
async function report(deps: ActivityDeps, result: Awaited<ReturnType<CloudProvider['launch']>>): Promise<void> {
  const unavailable = result.ok ? result.value.unavailable : result.error.unavailable;
  if (unavailable.length > 0) {
    deps.cloud.markUnavailable(unavailable);
    await deps.offerings.refused(unavailable);
  }
  if (result.ok) await deps.offerings.succeeded(result.value);
}

/** Section 3.4, 1.4: what no node class and no claim refers to any more. */
async function sweep(deps: ActivityDeps): Promise<void> {
  const nodeClasses = deps.cache.all(deps.cloud.nodeClassKind.kind as Kind) as readonly NodeClass[];
  await deps.cloud.sweep?.(nodeClasses, managedClaims(deps));
}

/** Whatever else goes wrong is shown on the claim and tried again until the launch timeout (section 3.1). */
async function launchFailed(deps: ActivityDeps, ref: ClaimRef, error: unknown): Promise<Error> {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, longestMessage);
  const known = isDomainError(error) && typeof error.details.reason === 'string' ? error.details.reason : undefined;
  const reason = known ?? failures.launchFailed.type;
  try {
    await setConditions(deps, ref, [{ type: 'Launched', status: 'Unknown', reason, message }]);
  } catch (cause) {
    deps.log.debug({ nodeClaim: ref.name, error: String(cause) }, 'could not show why the launch failed');
  }
  deps.log.warn({ nodeClaim: ref.name, reason, error: message }, 'launching failed, trying again');
  return ApplicationFailure.retryable(message, failures.launchFailed.type);
}

async function requestFor(deps: ActivityDeps, claim: NodeClaim): Promise<LaunchRequest | string> {
  const poolName = claim.metadata.labels?.[labels.nodePool] ?? '';
  const pool = poolOf(deps.cache, claim) ?? (await deps.kube.get('NodePool', { name: poolName }));
  if (pool === undefined) return `NodePool ${poolName} does not exist`;
  const { nodeClassRef } = claim.spec;
  const nodeClass = nodeClassOf(deps, nodeClassRef);
  if (nodeClass === undefined) return `${nodeClassRef.kind} ${nodeClassRef.name} does not exist`;
  if (nodeClass.metadata.deletionTimestamp !== undefined) {
    return `${nodeClassRef.kind} ${nodeClassRef.name} is being deleted`;
  }
  const { uid = '', creationTimestamp = '' } = claim.metadata;
  // Nobody has tried yet: neither this activity nor, as the claim would show, an earlier one.
  const young = deps.now() - Date.parse(creationTimestamp) < youngMs;
  const tried = activityInfo().attempt > 1 || conditionOf(claim.status?.conditions, 'Launched') !== undefined;
  const overlay = await overlayOf(deps, poolName);
  return { claim, pool, nodeClass, clientToken: launchToken(uid), firstAttempt: young && !tried, ...overlay };
}

/** What NodeOverlays make of the pool's instance types, by the same rules as when its claims were planned (section 1.3). */
async function overlayOf(deps: ActivityDeps, pool: string): Promise<Pick<LaunchRequest, 'overlaid'>> {
  if (overlaysInEffect(deps).length === 0) return {};
  const pools = managedPools(deps);
  const catalogues = await cataloguesOf(deps, pools);
  return { overlaid: (types) => overlaid(deps, pools, new Map([...catalogues, [pool, types]])).get(pool) ?? types };
}

/** Section 4.15: what EC2 takes back is not offered again for a while. */
async function hide(deps: ActivityDeps, kind: string, claim: NodeClaim): Promise<void> {
  const { instanceType, zone, capacityType } = labelsOf(claim);
  const reservationId = claim.metadata.labels?.[reservationLabel];
  if (kind === 'spot_interrupted' && capacityType === 'spot') {
    const offering = { instanceType, zone, capacityType, reason: 'SpotInterruption' };
    deps.cloud.markUnavailable([offering]);
    await deps.offerings.refused([offering]);
  }
  if (kind === 'capacity_reservation_interrupted' && reservationId !== undefined) {
    deps.cloud.markUnavailable([
      { instanceType, zone, capacityType, reservationId, reason: 'ReservationInterruption' },
    ]);
  }
}

/** Section 3.3: tags that need the names of node and claim, once. */
async function tag(
  deps: ActivityDeps,
  { claim: ref, providerId, nodeName }: { claim: ClaimRef; providerId: string; nodeName: string },
): Promise<void> {
  const claim = await getClaim(deps.kube, ref);
  if (claim?.metadata.annotations?.[annotations.tagged] === 'true') return;
  await deps.cloud.tag(providerId, { Name: nodeName, 'karpenter.sh/nodeclaim': ref.name });
  await updateClaim(deps.kube, ref, () => ({ metadata: { annotations: { [annotations.tagged]: 'true' } } }));
}

async function inspect(
  deps: ActivityDeps,
  { instanceId, kind, at }: { instanceId: string; kind: string; at: number },
): Promise<InstanceView> {
  const claim = deps.cache.all('NodeClaim').find(({ status }) => status?.providerID?.endsWith(`/${instanceId}`));
  if (claim === undefined) return { state: 'unknown' };
  const { nodePool, ...offering } = labelsOf(claim);
  const node = nodeOf(deps.cache, claim);
  const nodeName = node?.metadata.name;
  for (const event of interruptionEvents(kind, claim.metadata.name ?? '', nodeName)) {
    deps.events.publish({ ...event, regarding: regardingClaim(claim) });
  }
  await hide(deps, kind, claim);
  const pods = nodeName === undefined ? [] : deps.cache.podsOnNode(nodeName);
  const moving = pods.filter((pod) => isDrainable(pod, at));
  const policy = policyOf(poolOf(deps.cache, claim), deps.cache.all('DisruptionPolicy'));
  const registered = nodeName !== undefined && isTrue(claim.status?.conditions, 'Registered');
  return {
    state: 'known',
    claim: identityOf(claim),
    nodePool,
    deleting: claim.metadata.deletionTimestamp !== undefined,
    ...(registered ? { nodeName } : {}),
    ...offering,
    longestGraceMs: Math.max(0, ...moving.map(graceOf)),
    podsToMove: pods.filter(isReschedulable).length,
    ...(policy?.spec.rebalanceRecommendation === 'Replace' ? { rebalance: 'Replace' } : {}),
  };
}
