import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { managedClaims, nodeOf } from '../../cluster/cluster.js';
import type { CloudActivities, TagInstanceResult } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { identityOf } from '../../cluster/labels-of.js';
import { getClaim, updateClaim } from '../../cluster/writes.js';
import { regarding } from '../../core/regarding.js';
import { isTransient } from '../../core/failures.js';
import { messageOf } from '../../core/error-message.js';

/** How many instances one call of `tagUntagged` tags. */
const mostAtATime = 100;
const longestMessage = 300;

interface Untagged {
  readonly claim: ClaimRef;
  readonly providerId: string;
  readonly nodeName: string;
}

/**
 * Adds the tags that need the names of node and NodeClaim, once (launch/tags-after-registration). A node works without them. Throws
 * where only time is lacking, for the call to be tried again: EC2 shows an instance before its tags.
 */
export async function tagInstance(
  deps: ActivityDeps,
  { claim: ref, providerId, nodeName }: Untagged,
): Promise<TagInstanceResult> {
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined) return { state: 'gone' };
  if (isTagged(claim)) return { state: 'tagged' };
  try {
    await deps.cloud.tag(providerId, { Name: nodeName, 'karpenter.sh/nodeclaim': ref.name });
  } catch (error) {
    if (isTransient(error)) throw error;
    return { state: 'failed', message: tell(deps, claim, error) };
  }
  await updateClaim(deps.kube, ref, () => ({ metadata: { annotations: { [annotations.tagged]: 'true' } } }));
  return { state: 'tagged' };
}

/** Shows the failure on the NodeClaim; the call itself is in the metrics of cloud calls. */
function tell(deps: ActivityDeps, claim: NodeClaim, error: unknown): string {
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

/** Tags nodes that lack their tags. A refusal of one (missing permissions) applies to all, so it stops at the first. */
export async function tagUntagged(deps: ActivityDeps): ReturnType<CloudActivities['tagUntagged']> {
  let tagged = 0;
  for (const untagged of untaggedOf(deps).slice(0, mostAtATime)) {
    const result = await tagInstance(deps, untagged).catch((error: unknown) => {
      return { state: 'failed', message: messageOf(error).slice(0, longestMessage) } as const;
    });
    if (result.state === 'failed') return { tagged, failed: `NodeClaim ${untagged.claim.name}: ${result.message}` };
    if (result.state === 'tagged') tagged += 1;
  }
  return { tagged };
}

/** Nodes without tags. A launch tags on registration, so initialized nodes without tags were missed. */
function untaggedOf(deps: ActivityDeps): readonly Untagged[] {
  return managedClaims(deps).flatMap((claim) => {
    const nodeName = nodeOf(deps.cache, claim)?.metadata.name;
    const providerId = claim.status?.providerID ?? '';
    const isUp = isTrue(claim.status?.conditions, 'Initialized') && claim.metadata.deletionTimestamp === undefined;
    if (!isUp || isTagged(claim) || nodeName === undefined || providerId === '') return [];
    return [{ claim: identityOf(claim), providerId, nodeName }];
  });
}

function isTagged({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotations.tagged] === 'true';
}
