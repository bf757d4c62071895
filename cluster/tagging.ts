import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import type { ClaimRef } from '../workflows/messages.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { EventRecorder } from '../kube/port.js';
import type { ClusterDeps } from './deps.js';
import { identityOf } from './node-labels.js';
import { getClaim } from './writes.js';
import { regarding } from '../core/events.js';
import { isDomainError, isTransient } from '../core/failures.js';
import { lookUp } from '../core/own.js';
import { messageOf } from '../core/error-message.js';
import { isDeleting } from '../core/names.js';

/** Maximum number of instances that one call of `tagUntagged` tags. */
const mostAtATime = 100;
/** Maximum number of failures per call, since each takes long while the cloud is unavailable. */
const mostFailures = 10;
const longestMessage = 300;

type TagInstanceResult = { readonly state: 'tagged' | 'gone' } | { readonly state: 'failed'; readonly message: string };

type Deps = Pick<ClusterDeps, 'kube' | 'cache' | 'cloud' | 'log'> & { readonly events: EventRecorder };

interface Untagged {
  readonly claim: ClaimRef;
  readonly providerId: string;
  readonly nodeName: string;
}

/**
 * Adds the tags that need the names of node and NodeClaim, once (launch/tags-after-registration). A node works without
 * them. Throws if a retry can succeed: EC2 shows an instance before its tags.
 */
export async function tagInstance(
  deps: Deps,
  { claim: ref, providerId, nodeName }: Untagged,
): Promise<TagInstanceResult> {
  const cached = deps.cache.get('NodeClaim', { name: ref.name });
  const claim = cached?.metadata.uid === ref.uid ? cached : await getClaim(deps.kube, ref);
  if (claim === undefined || isDeleting(claim)) return { state: 'gone' };
  if (isTagged(claim)) return { state: 'tagged' };
  try {
    await deps.cloud.tag(providerId, { Name: nodeName, 'karpenter.sh/nodeclaim': ref.name });
  } catch (error) {
    // Garbage collection handles the claim.
    if (isDomainError(error, 'NotFound')) return { state: 'gone' };
    if (isTransient(error)) throw error;
    return { state: 'failed', message: publishFailure(deps, claim, error) };
  }
  await deps.kube.patch('NodeClaim', { name: ref.name }, { metadata: { uid: ref.uid, annotations: marks } });
  return { state: 'tagged' };
}

const marks = { [annotations.tagged]: 'true', [annotations.clusterNameTagged]: 'true' };

/** Publishes the failure on the NodeClaim; metrics of cloud calls already count the call. */
function publishFailure(deps: Deps, claim: NodeClaim, error: unknown): string {
  const message = messageOf(error).slice(0, longestMessage);
  deps.log.warn({ nodeClaim: claim.metadata.name, error: message }, 'could not tag an instance, trying again later');
  deps.events.publish({
    regarding: regarding('NodeClaim', claim.metadata),
    type: 'Warning',
    reason: 'FailedTagging',
    message: `Failed to tag the instance: ${message}`,
  });
  return message;
}

/**
 * Tags nodes without tags. A failure of one instance does not stop the others; throttling applies to all and stops.
 * `failedBefore`: UIDs of NodeClaims whose instances earlier calls could not tag, which come last, oldest failure first.
 * Returns the first failure.
 */
export async function tagUntagged(
  deps: Deps,
  failedBefore = new Set<string>(),
): Promise<{ readonly tagged: number; readonly failed?: string }> {
  let tagged = 0;
  const failed: string[] = [];
  for (const untagged of inOrder(untaggedOf(deps), failedBefore).slice(0, mostAtATime)) {
    const result = await tagInstance(deps, untagged).catch((error: unknown): Failed & { isThrottled: boolean } => ({
      ...{ state: 'failed', message: messageOf(error).slice(0, longestMessage) },
      isThrottled: isDomainError(error, 'Throttled'),
    }));
    if (result.state === 'tagged') tagged += 1;
    if (result.state !== 'failed') continue;
    failed.push(`NodeClaim ${untagged.claim.name}: ${result.message}`);
    failedBefore.delete(untagged.claim.uid);
    failedBefore.add(untagged.claim.uid);
    if (('isThrottled' in result && result.isThrottled) || failed.length >= mostFailures) break;
  }
  return { tagged, ...(failed[0] === undefined ? {} : { failed: failed[0] }) };
}

/** Those that failed before come last; others are dropped from `failedBefore`. */
function inOrder(untagged: readonly Untagged[], failedBefore: Set<string>): readonly Untagged[] {
  const byUid = new Map(untagged.map((one) => [one.claim.uid, one]));
  for (const uid of failedBefore) if (!byUid.has(uid)) failedBefore.delete(uid);
  const later = [...failedBefore].flatMap((uid) => byUid.get(uid) ?? []);
  return [...untagged.filter(({ claim }) => !failedBefore.has(claim.uid)), ...later];
}

type Failed = Extract<TagInstanceResult, { state: 'failed' }>;

/** Nodes without tags. A launch tags at registration, so initialized nodes without tags were missed. */
function untaggedOf(deps: Deps): readonly Untagged[] {
  return managedClaims(deps).flatMap((claim) => {
    const nodeName = nodeOf(deps.cache, claim)?.metadata.name;
    const providerId = claim.status?.providerID ?? '';
    const isUp = isTrue(claim.status?.conditions, 'Initialized') && !isDeleting(claim);
    if (!isUp || isTagged(claim) || nodeName === undefined || providerId === '') return [];
    return [{ claim: identityOf(claim), providerId, nodeName }];
  });
}

/** Whether the instance has the tags that name its node. */
export function isTagged({ metadata }: NodeClaim): boolean {
  return Object.keys(marks).every((key) => lookUp(metadata.annotations, key) === 'true');
}
