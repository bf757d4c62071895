import { setTimeout as delay } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { finalizers, labels } from '../../api/labels.js';
import type { CloudProvider, LaunchedInstance, LaunchRequest } from '../../cloud/port.js';
import { DomainError, failures, isDomainError, isTransient } from '../../core/failures.js';
import { launchToken } from '../../core/ids.js';
import { ownerOf } from '../../core/owners.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { CloudActivities, LaunchInstanceResult } from './contract.js';
import { cataloguesOf, managedPools, nodeClassOf, poolOf } from '../../cluster/cluster.js';
import { currentAttempt } from '../attempt.js';
import type { ActivityDeps } from '../deps.js';
import { withOverlays, overlaysInEffect } from '../../cluster/overlays.js';
import { setConditions } from '../claim-status.js';
import { withFailures } from '../to-failure.js';
import { updateClaim } from '../../cluster/writes.js';
import { recordInstance } from './launch.js';
import { regarding } from '../../core/events.js';
import { messageOf } from '../../core/error-message.js';
import { nameOf, isDeleting } from '../../core/names.js';

/** An older NodeClaim may have been launched by an attempt that is not known here. */
const youngMs = 120_000;
/** Time reserved at the end of an attempt, to report its outcome. */
const reserveMs = 5_000;
/** The longest message of a failed launch, as in Karpenter. */
const longestMessage = 300;

/**
 * Activities that call the cloud. They read from EC2 what was done before, so each can run again after a crash
 * (invariants/one-instance).
 */
export function createCloudActivities(deps: ActivityDeps): CloudActivities {
  return withFailures<CloudActivities>({
    launchInstance: ({ claim, isFirst = false }) => launch(deps, claim, isFirst),
    rebootInstance: async ({ claim, providerId }) => {
      const state = (await deps.cloud.rebootInstance?.(providerId)) ?? 'unsupported';
      deps.log.info({ nodeClaim: claim.name, providerId, state }, 'rebooting an instance');
      return { state };
    },
  });
}

async function launch(deps: ActivityDeps, ref: ClaimRef, isFirst: boolean): Promise<LaunchInstanceResult> {
  const began = deps.now();
  const claim = await withFinalizer(deps, ref, isFirst);
  if (claim === undefined || isDeleting(claim)) return { state: 'gone' };
  const request = await requestFor(deps, claim, isFirst);
  if (typeof request === 'string') return { state: 'refused', reason: 'insufficient_capacity', message: request };
  await deps.offerings.refresh();
  try {
    const result = await answeredInTime(deps, deps.cloud.launch(request), began);
    await report(deps, claim, result);
    if (result.ok) {
      const { instanceId, instanceType, zone, capacityType } = result.value;
      deps.log.info({ nodeClaim: ref.name, instanceId, instanceType, zone, capacityType }, 'launched an instance');
      return { state: 'launched', instance: result.value, recorded: await recordNow(deps, ref, result.value, claim) };
    }
    const reason = result.error.kind === 'InsufficientCapacity' ? 'insufficient_capacity' : 'nodeclass_not_ready';
    return { state: 'refused', reason, message: result.error.message };
  } catch (error) {
    // Computed before the failure is reported, which may take long.
    const isUnavailable = isTransient(error) && isSilentSince(deps, began);
    const tookMs = Math.max(0, deps.now() - began);
    const message = await launchFailed(deps, ref, claim, error);
    return { state: 'failed', message, tookMs, ...(isUnavailable ? { isUnavailable } : {}) };
  }
}

/**
 * Adds the finalizer, without which nothing is launched (launch/finalizer-first). Nearly all NodeClaims are created
 * with it. One that was created just now (`isFirst`) is taken from the watch cache, if it is there.
 */
function withFinalizer({ kube, cache }: ActivityDeps, ref: ClaimRef, isFirst: boolean): Promise<NodeClaim | undefined> {
  const cached = isFirst ? cache.get('NodeClaim', { name: ref.name }) : undefined;
  const decide = ({ metadata: { finalizers: present = [], deletionTimestamp } }: NodeClaim) =>
    deletionTimestamp !== undefined || present.includes(finalizers.termination)
      ? undefined
      : { metadata: { finalizers: [...present, finalizers.termination] } };
  return updateClaim(kube, ref, decide, cached?.metadata.uid === ref.uid ? cached : undefined);
}

/**
 * Returns false if the instance cannot be recorded now: the launch has succeeded, and the workflow repeats the write.
 */
async function recordNow(
  deps: ActivityDeps,
  ref: ClaimRef,
  instance: LaunchedInstance,
  seen: NodeClaim,
): Promise<boolean> {
  try {
    await recordInstance(deps, ref, instance, seen);
    return true;
  } catch (error) {
    deps.log.warn({ nodeClaim: ref.name, error: messageOf(error) }, 'could not record an instance yet');
    return false;
  }
}

/**
 * Whether the cloud has answered no call of this process since then. The failure then says nothing about the NodeClaim.
 */
const isSilentSince = ({ cloud }: ActivityDeps, since: number): boolean => (cloud.answeredAt ?? 0) < since;

/**
 * Fails the attempt just before its timeout if the cloud answers no calls. A launch that hangs while other calls are
 * answered times out instead.
 */
async function answeredInTime<T>(deps: ActivityDeps, launching: Promise<T>, began: number): Promise<T> {
  const limitMs = (currentAttempt()?.limitMs ?? Infinity) - reserveMs;
  if (!(limitMs > 0 && limitMs < Infinity)) return launching;
  const over = new AbortController();
  const limit = delay(limitMs, undefined, { signal: over.signal }).then(
    () => {
      if (!isSilentSince(deps, began)) return launching;
      throw new DomainError('Unavailable', `the cloud has answered no call for ${limitMs / 1000} s`);
    },
    () => launching,
  );
  return Promise.race([launching, limit]).finally(() => over.abort());
}

/** Records unavailable offerings for all workers, before the NodeClaim's outcome is written. */
async function report(
  deps: ActivityDeps,
  claim: NodeClaim,
  result: Awaited<ReturnType<CloudProvider['launch']>>,
): Promise<void> {
  const { unavailable, events = [] } = result.ok ? result.value : result.error;
  for (const event of events) deps.events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  if (unavailable.length > 0) {
    deps.cloud.markUnavailable(unavailable);
    await deps.offerings.refused(unavailable);
  }
  if (result.ok) await deps.offerings.succeeded(result.value);
}

/** Shows other failures on the NodeClaim; they are retried until the launch timeout (launch/other-failures). */
async function launchFailed(deps: ActivityDeps, ref: ClaimRef, claim: NodeClaim, error: unknown): Promise<string> {
  const message = messageOf(error).slice(0, longestMessage);
  const known = isDomainError(error) && typeof error.details.reason === 'string' ? error.details.reason : undefined;
  const reason = known ?? failures.launchFailed.type;
  deps.events.publish({
    regarding: regarding('NodeClaim', claim.metadata),
    type: 'Warning',
    reason,
    message: `NodeClaim ${ref.name} event: ${message}`,
    // Messages contain request ids and times that differ at each attempt.
    dedupeBy: [ref.uid, reason],
  });
  try {
    await setConditions(deps, ref, [{ type: 'Launched', status: 'Unknown', reason, message }]);
  } catch (cause) {
    deps.log.debug({ nodeClaim: ref.name, error: messageOf(cause) }, 'could not show why the launch failed');
  }
  deps.log.warn({ nodeClaim: ref.name, reason, error: message }, 'launching failed, trying again');
  return message;
}

async function requestFor(deps: ActivityDeps, claim: NodeClaim, isFirst: boolean): Promise<LaunchRequest | string> {
  const pool = await poolNow(deps, claim);
  const owner = ownerOf(claim, 'NodePool.karpenter.sh');
  if (pool === undefined && owner !== undefined) return `NodePool ${owner.name} does not exist`;
  const { nodeClassRef } = claim.spec;
  const nodeClass = nodeClassOf(deps, nodeClassRef);
  if (nodeClass === undefined) return `${nodeClassRef.kind} ${nodeClassRef.name} does not exist`;
  if (isDeleting(nodeClass)) {
    return `${nodeClassRef.kind} ${nodeClassRef.name} is being deleted`;
  }
  const { uid = '', creationTimestamp = '' } = claim.metadata;
  const young = deps.now() - Date.parse(creationTimestamp) < youngMs;
  const overlay = pool === undefined ? {} : await overlayOf(deps, nameOf(pool));
  return {
    claim,
    nodeClass,
    clientToken: launchToken(uid),
    firstAttempt: young && isFirst && activityInfo().attempt === 1,
    ...overlay,
  };
}

/**
 * The NodePool of a NodeClaim; undefined if the NodeClaim was created by hand without a NodePool, or with one that does
 * not exist (launch/without-node-pool).
 */
async function poolNow(deps: ActivityDeps, claim: NodeClaim): Promise<NodePool | undefined> {
  const name = claim.metadata.labels?.[labels.nodePool] ?? '';
  return name === '' ? undefined : (poolOf(deps.cache, claim) ?? (await deps.kube.get('NodePool', { name })));
}

/** The NodePool's instance types with NodeOverlays, by the same rules as in planning (node-overlays/at-launch). */
async function overlayOf(deps: ActivityDeps, pool: string): Promise<Pick<LaunchRequest, 'overlaid'>> {
  if (overlaysInEffect(deps).length === 0) return {};
  const pools = managedPools(deps);
  const catalogues = await cataloguesOf(deps, pools);
  return { overlaid: (types) => withOverlays(deps, pools, new Map([...catalogues, [pool, types]])).get(pool) ?? types };
}
