import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { defaultDisruptionPolicySpec } from '../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import { rotationTimes } from '../disruption/expiry.js';
import { rulingOf } from '../disruption/limits.js';
import { rulesOf } from '../disruption/pool-rules.js';
import type { ClaimRef } from '../workflows/messages.js';
import { cataloguesOf, nodeOf, poolOf, priceOf } from './cluster.js';
import type { ActivityDeps } from './deps.js';
import { identityOf, labelsOf } from './labels-of.js';
import type { ExpiryView, RotationActivities } from './rotation-contract.js';
import { withFailures } from './to-failure.js';
import { getClaim } from './writes.js';

/** Activities of `rotateExpired` (section 4.13). */
export function createRotationActivities(deps: ActivityDeps): RotationActivities {
  return withFailures<RotationActivities>({ viewExpiry: (input) => viewExpiry(deps, input) });
}

async function viewExpiry(
  deps: ActivityDeps,
  { claim: ref, expiresAt }: { readonly claim: ClaimRef; readonly expiresAt: number },
): Promise<ExpiryView> {
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { state: 'gone' };
  const pool = poolOf(deps.cache, claim);
  const policies = deps.cache.all('DisruptionPolicy');
  const asked = rulesOf(pool, policies).approval('Expired');
  const node = nodeOf(deps.cache, claim);
  const catalogues = pool === undefined ? undefined : await cataloguesOf(deps, [pool]);
  const pricePerHour = priceOf(claim, catalogues?.get(pool?.metadata.name ?? '')) ?? 0;
  return {
    state: 'live',
    ...termsOf(pool, policies, claim, expiresAt),
    ...(node === undefined
      ? {}
      : { candidate: { claim: identityOf(claim), node: node.metadata.name ?? '', ...labelsOf(claim), pricePerHour } }),
    ...(asked === undefined ? {} : { approval: asked }),
  };
}

type Terms = Pick<Extract<ExpiryView, { state: 'live' }>, 'mode' | 'beginAt' | 'mustGoAt' | 'leftAlone'>;

/** While a policy is not valid, or only recommends, the node stays, whatever deadline it sets. */
function termsOf(
  pool: NodePool | undefined,
  policies: readonly DisruptionPolicy[],
  { metadata }: NodeClaim,
  expiresAt: number,
): Terms {
  const { policy, spec, broken } = rulingOf(pool, policies);
  const { mode } = rulesOf(pool, policies);
  const leftAlone = mode === 'Recommend' ? `DisruptionPolicy ${policy ?? ''} has mode Recommend` : broken;
  const life = { uid: metadata.uid ?? '', createdAt: Date.parse(metadata.creationTimestamp ?? ''), expiresAt };
  if (leftAlone === undefined) return { mode: spec.expiry.mode, ...rotationTimes(spec.expiry, life) };
  const { beginAt } = rotationTimes(defaultDisruptionPolicySpec.expiry, life);
  return { mode: 'ReplaceFirst', beginAt, leftAlone };
}
