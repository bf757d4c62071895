import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { EndedInstance } from '../cloud/port.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import { instanceEnded } from '../core/registration-health.js';
import { regarding } from '../core/events.js';
import type { ActivityDeps } from './deps.js';
import { recordRegistration } from './registration-health.js';
import { nameOf, isDeleting } from '../core/names.js';

/** Most nodes register within this time and need no request to the cloud. */
const askedAfterMs = 60_000;

/**
 * How the instance of a NodeClaim ended that has waited for its Node for a while (launch/instance-ended); undefined if
 * it has not.
 */
export async function endedWhileAwaited(deps: ActivityDeps, claim: NodeClaim): Promise<EndedInstance | undefined> {
  const launchedAt = Date.parse(conditionOf(claim.status?.conditions, 'Launched')?.lastTransitionTime ?? '');
  return deps.now() - launchedAt >= askedAfterMs ? whyEnded(deps, claim) : undefined;
}

/**
 * Shows on a NodeClaim and its NodePool how the instance ended before its Node registered. `otherwise`: the message if
 * the cloud does not report how.
 */
export async function noteEndedUnregistered(deps: ActivityDeps, claim: NodeClaim, otherwise: string): Promise<void> {
  if (isTrue(claim.status?.conditions, 'Registered') || isDeleting(claim)) return;
  const { message, isReclaimed } = (await whyEnded(deps, claim)) ?? { message: otherwise, isReclaimed: false };
  deps.events.publish({
    regarding: regarding('NodeClaim', claim.metadata),
    type: 'Warning',
    reason: instanceEnded,
    message: `NodeClaim ${nameOf(claim)} event: its instance ended before its node registered: ${message}`,
  });
  if (isReclaimed) return;
  await recordRegistration(deps, claim, { registered: false, at: deps.now(), reason: instanceEnded, message });
}

/** Also undefined while the cloud does not answer, since that does not prove an end. */
async function whyEnded(deps: ActivityDeps, { metadata, status }: NodeClaim): Promise<EndedInstance | undefined> {
  try {
    return await deps.cloud.whyEnded?.(status?.providerID ?? '');
  } catch (error) {
    deps.log.debug(
      { nodeClaim: metadata.name, error: messageOf(error) },
      'could not see whether an instance has ended',
    );
    return undefined;
  }
}
