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
import { messageOf } from '../../core/error-message.js';

/** One call of `tagUntagged` tags so many; the others have their turn at the next. */
const mostAtATime = 100;
const longestMessage = 300;

interface Untagged {
  readonly claim: ClaimRef;
  readonly providerId: string;
  readonly nodeName: string;
}

/** Rule `launch/tags-after-registration`: tags that need the names of node and claim, once. A node serves without them. */
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
    return { state: 'failed', message: tell(deps, claim, error) };
  }
  await updateClaim(deps.kube, ref, () => ({ metadata: { annotations: { [annotations.tagged]: 'true' } } }));
  return { state: 'tagged' };
}

/** Where the owner of the claim looks; the call itself is counted as every call of the cloud. */
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

/** Nodes that go without tags so far. What refuses one refuses them all, so that one question is enough. */
export async function tagUntagged(deps: ActivityDeps): ReturnType<CloudActivities['tagUntagged']> {
  let tagged = 0;
  for (const untagged of untaggedOf(deps).slice(0, mostAtATime)) {
    const result = await tagInstance(deps, untagged);
    if (result.state === 'failed') return { tagged, failed: `NodeClaim ${untagged.claim.name}: ${result.message}` };
    if (result.state === 'tagged') tagged += 1;
  }
  return { tagged };
}

/** A launch tags as soon as the node registers: what is initialized and has no tags is left over. */
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
