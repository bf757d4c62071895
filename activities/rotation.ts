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
  const { policy, spec, broken } = rulingOf(pool, policies);
  const { mode, approval } = rulesOf(pool, policies);
  const createdAt = Date.parse(claim.metadata.creationTimestamp ?? '');
  // While the policy is not valid nothing of it is followed, and the limits let nothing go.
  const expiry = broken === undefined ? spec.expiry : { ...spec.expiry, mode: 'ReplaceFirst' as const };
  const { hardDeadline: _unbounded, ...unbounded } = expiry;
  const leftAlone = mode === 'Recommend' ? `DisruptionPolicy ${policy ?? ''} has mode Recommend` : broken;
  const times = rotationTimes(leftAlone === undefined ? expiry : unbounded, { uid: ref.uid, createdAt, expiresAt });
  const asked = approval('Expired');
  const node = nodeOf(deps.cache, claim);
  const catalogues = pool === undefined ? undefined : await cataloguesOf(deps, [pool]);
  const pricePerHour = priceOf(claim, catalogues?.get(pool?.metadata.name ?? '')) ?? 0;
  return {
    state: 'live',
    mode: expiry.mode,
    ...times,
    ...(node === undefined
      ? {}
      : { candidate: { claim: identityOf(claim), node: node.metadata.name ?? '', ...labelsOf(claim), pricePerHour } }),
    ...(asked === undefined ? {} : { approval: asked }),
    ...(leftAlone === undefined ? {} : { leftAlone }),
  };
}
