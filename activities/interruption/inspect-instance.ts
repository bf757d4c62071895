import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';
import { nodeOf, poolOf } from '../../cluster/cluster.js';
import { identityOf, labelsOf } from '../../cluster/node-labels.js';
import { updateClaim } from '../../cluster/writes.js';
import { isTrue } from '../../core/conditions.js';
import { graceOf, isDrainable, isReschedulable } from '../../core/pods.js';
import { regarding } from '../../core/events.js';
import { policyOf } from '../../disruption/policies/effective-policy.js';
import { noteEndedUnregistered } from '../ended-instance.js';
import { taintCandidates } from '../disruption/candidate-marks.js';
import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import type { InstanceView, InterruptionActivities } from './contract.js';
import type { EventToPublish } from '../../kube/port.js';
import { lookUp } from '../../core/own.js';
import { isDeleting, nameOf } from '../../core/names.js';

type Event = Omit<EventToPublish, 'regarding'>;

const notices: Readonly<Record<string, Event>> = {
  spot_interrupted: { type: 'Warning', reason: 'SpotInterrupted', message: 'Spot interruption warning was triggered' },
  rebalance_recommendation: {
    type: 'Normal',
    reason: 'SpotRebalanceRecommendation',
    message: 'Spot rebalance recommendation was triggered',
  },
  instance_stopped: { type: 'Warning', reason: 'InstanceStopping', message: 'Instance is stopping' },
  instance_terminated: { type: 'Warning', reason: 'InstanceTerminating', message: 'Instance is terminating' },
  capacity_reservation_interrupted: {
    type: 'Warning',
    reason: 'CapacityReservationInstanceInterrupted',
    message: 'Capacity reservation interruption warning was triggered',
  },
};

const unhealthy: Event = {
  type: 'Warning',
  reason: 'InstanceUnhealthy',
  message: 'An unhealthy warning was triggered',
};

/** The events of an interruption, as Karpenter writes them (interruption/events). */
function interruptionEvents(kind: string, claim: string, node: string | undefined): readonly Event[] {
  const event = lookUp(notices, kind) ?? unhealthy;
  const where = node === undefined ? `NodeClaim ${claim}` : `Node ${node}`;
  const first = { ...event, message: `${where} event: ${event.message}` };
  if (kind === 'rebalance_recommendation') return [first];
  return [
    first,
    {
      type: 'Warning',
      reason: 'TerminatingOnInterruption',
      message: 'Interruption triggered termination for the node',
    },
  ];
}

/** Notices of an instance that is stopping or terminated. */
const instanceEnding: ReadonlySet<string> = new Set(['instance_stopped', 'instance_terminated']);

const reservationLabel = 'karpenter.k8s.aws/capacity-reservation-id';

export function createInterruptionActivities(deps: ActivityDeps): InterruptionActivities {
  return withFailures<InterruptionActivities>({ inspectInstance: (input) => inspectInstance(deps, input) });
}

/**
 * The first activity for a notice: finds the NodeClaim of the instance, publishes the events, taints the node, and
 * makes the interrupted offering unavailable. All in one activity, because a notice leaves two minutes.
 */
async function inspectInstance(
  deps: ActivityDeps,
  {
    instanceId,
    kind,
    at,
    cordonFor: owner,
    toConfirm = false,
  }: Parameters<InterruptionActivities['inspectInstance']>[0],
): Promise<InstanceView> {
  const { claim, isLaunching } = await claimOfInstance(deps, instanceId);
  if (claim === undefined) return { state: 'unknown', ...(isLaunching ? { mayBeLaunching: true } : {}) };
  if (toConfirm && (await isRefuted(deps, claim, { kind, at }))) {
    deps.log.warn(
      { nodeClaim: nameOf(claim), kind },
      'the cloud does not confirm the interruption that the NodeClaim names',
    );
    await updateClaim(deps.kube, identityOf(claim), () => ({
      metadata: { annotations: { [annotations.interruption]: null } },
    }));
    return { state: 'refuted' };
  }
  const nodeName = nodeOf(deps.cache, claim)?.metadata.name;
  for (const event of interruptionEvents(kind, nameOf(claim), nodeName)) {
    deps.events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  }
  if (instanceEnding.has(kind)) await noteEndedUnregistered(deps, claim, 'its instance is stopping or terminated');
  const view = viewOf(deps, claim, at);
  const hasTaint = owner !== undefined && (await isTainted(deps, { reason: kind, owner, noticedAt: at }, view));
  await markOfferingUnavailable(deps, kind, claim);
  return hasTaint ? { ...view, cordoned: true } : view;
}

/** An instance that still runs this long after its notice was not taken. */
const refutedAfterMs = 600_000;
/** What the cloud takes by each kind of notice. */
const takes: Readonly<Record<string, string>> = {
  spot_interrupted: 'spot',
  capacity_reservation_interrupted: 'reserved',
};

/** Whether the cloud contradicts a notice that was read from a NodeClaim, which others may write. */
async function isRefuted(
  deps: ActivityDeps,
  { status }: NodeClaim,
  { kind, at }: { readonly kind: string; readonly at: number },
): Promise<boolean> {
  const instance = await deps.cloud.get(status?.providerID ?? '');
  if (instance === undefined || (instance.state !== 'running' && instance.state !== 'pending')) return false;
  return instance.capacityType !== lookUp(takes, kind) || deps.now() - at > refutedAfterMs;
}

type KnownInstance = Extract<InstanceView, { state: 'known' }>;

function viewOf(deps: ActivityDeps, claim: NodeClaim, at: number): KnownInstance {
  const { nodePool, ...offering } = labelsOf(claim);
  const nodeName = nodeOf(deps.cache, claim)?.metadata.name;
  const pods = nodeName === undefined ? [] : deps.cache.podsOnNode(nodeName);
  const moving = pods.filter((pod) => isDrainable(pod, at));
  const policy = policyOf(poolOf(deps.cache, claim), deps.cache.all('DisruptionPolicy'));
  const registered = nodeName !== undefined && isTrue(claim.status?.conditions, 'Registered');
  return {
    state: 'known',
    claim: identityOf(claim),
    nodePool,
    deleting: isDeleting(claim),
    ...(registered ? { nodeName } : {}),
    ...offering,
    longestGraceMs: Math.max(0, ...moving.map(graceOf)),
    podsToMove: pods.filter(isReschedulable).length,
    ...(policy?.spec.rebalanceRecommendation === 'Replace' ? { rebalance: 'Replace' } : {}),
  };
}

/** Taints the node, unless it is being deleted already or has no pods to evict. */
async function isTainted(
  deps: ActivityDeps,
  why: { readonly reason: string; readonly owner: string; readonly noticedAt: number },
  { claim, nodeName: node, deleting, podsToMove }: KnownInstance,
): Promise<boolean> {
  if (node === undefined || deleting || podsToMove === 0) return false;
  const { tainted } = await taintCandidates(deps, { ...why, candidates: [{ claim, node }] });
  return tainted.length > 0;
}

/** Makes the interrupted offering unavailable for a while (interruption/offering-hidden). */
async function markOfferingUnavailable(deps: ActivityDeps, kind: string, claim: NodeClaim): Promise<void> {
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

/** The NodeClaim of an instance, from the watch cache or else from the API server. */
async function claimOfInstance(
  deps: ActivityDeps,
  instanceId: string,
): Promise<{ readonly claim: NodeClaim | undefined; readonly isLaunching: boolean }> {
  const asked = deps.now();
  const among = (claims: readonly NodeClaim[]): NodeClaim | undefined =>
    claims.find(({ status }) => status?.providerID?.endsWith(`/${instanceId}`));
  let claims = deps.cache.all('NodeClaim');
  if (among(claims) === undefined && !(await deps.cache.isFresh('NodeClaim', asked))) {
    claims = await deps.kube.list('NodeClaim');
  } else claims = deps.cache.all('NodeClaim');
  const isLaunching = claims.some(({ status }) => (status?.providerID ?? '') === '');
  return { claim: among(claims), isLaunching };
}
