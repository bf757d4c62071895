import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, labels } from '../api/labels.js';
import { ownerOf } from '../core/owners.js';
import { withRegistration } from '../core/registration-health.js';
import type { RegistrationOutcome } from '../core/registration-health.js';
import { registrationSubject } from '../cluster/registration-subject.js';
import type { ActivityDeps } from './deps.js';
import { updateObject } from '../cluster/writes.js';

/**
 * Records on the NodePool whether a node registered, from which the operator derives NodeRegistrationHealthy
 * (node-pools/registration-health). Only informative, so a failed write does not fail the activity.
 */
export async function recordRegistration(
  deps: ActivityDeps,
  claim: NodeClaim,
  outcome: Omit<RegistrationOutcome, 'claimUid'>,
): Promise<void> {
  const name = claim.metadata.labels?.[labels.nodePool] ?? '';
  if (name === '') return;
  const claimUid = claim.metadata.uid ?? '';
  try {
    const seen = deps.cache.get('NodePool', { name });
    const decide = (pool: NodePool): { metadata: object } | undefined => {
      if (!isOwner(pool, claim)) return undefined;
      const known = pool.metadata.annotations?.[annotations.registrations];
      const text = withRegistration(known, registrationSubject(deps, pool), { claimUid, ...outcome });
      return text === undefined ? undefined : { metadata: { annotations: { [annotations.registrations]: text } } };
    };
    await updateObject(deps.kube, 'NodePool', name, decide, seen === undefined ? {} : { seen });
  } catch (error) {
    deps.log.warn({ nodePool: name, error: messageOf(error) }, 'could not note a registration on the NodePool');
  }
}

/** A NodePool that was deleted and created again does not own the earlier NodeClaims. */
function isOwner(pool: NodePool, claim: NodeClaim): boolean {
  return ownerOf(claim, 'NodePool.karpenter.sh')?.uid === pool.metadata.uid;
}
