import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { expirationTimes } from '../../disruption/expiration/expiration-times.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { rulesOf, whyOnlyRecommended } from '../../disruption/policies/pool-rules.js';
import { isStatic, nodeLimit } from '../../disruption/static-capacity/static-capacity.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { blankClaim } from '../provisioning/blank-claim.js';
import { claimPlans } from '../provisioning/claim-plans.js';
import { candidateOf, nodeNameOf, nodeOf, nodePrices, poolOf } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';
import { countsOf } from '../static-capacity/replicas.js';
import type { ExpirationView, ExpirationActivities } from './contract.js';
import { withFailures } from '../to-failure.js';
import { getClaim, updateClaim } from '../../cluster/writes.js';
import { isDeleting } from '../../core/names.js';

/** Activities of `expireNode` (expiration/replaced-first). */
export function createExpirationActivities(deps: ActivityDeps): ExpirationActivities {
  return withFailures<ExpirationActivities>({
    viewExpiration: (input) => viewExpiration(deps, input),
    declineExpiration: async ({ claim, why }) => {
      await updateClaim(deps.kube, claim, () => ({
        metadata: { annotations: { [annotations.expirationDeclined]: why } },
      }));
    },
  });
}

async function viewExpiration(
  deps: ActivityDeps,
  { claim: ref, expiresAt }: { readonly claim: ClaimRef; readonly expiresAt: number },
): Promise<ExpirationView> {
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined || isDeleting(claim)) return { state: 'gone' };
  const pool = poolOf(deps.cache, claim);
  const policies = deps.cache.all('DisruptionPolicy');
  const asked = rulesOf(pool, policies).approval('Expired');
  const node = nodeOf(deps.cache, claim);
  const pricePerHour =
    (await nodePrices(deps)).prices.of(claim.metadata.labels ?? {}, nodeNameOf({ claim, node })) ?? 0;
  const terms = termsOf(pool, policies, claim, expiresAt);
  return {
    state: 'live',
    ...terms,
    ...(terms.beginAt > deps.now() ? {} : await successorOf(deps, pool, ref.uid)),
    ...(node === undefined ? {} : { candidate: candidateOf({ claim, node, pricePerHour }) }),
    ...(asked === undefined ? {} : { approval: asked }),
  };
}

/**
 * A static NodePool replaces a node by another node of the NodePool, if `limits.nodes` has room for both. The pods of
 * the node do not matter: those that the NodePool is meant for have no other place.
 */
async function successorOf(
  deps: ActivityDeps,
  pool: NodePool | undefined,
  uid: string,
): Promise<Pick<Extract<ExpirationView, { state: 'live' }>, 'successor' | 'noRoom'>> {
  if (pool === undefined || !isStatic(pool) || !deps.gates.StaticCapacity) return {};
  const counts = await countsOf(deps, pool, []);
  const others = counts.unreplaced.filter(({ claim }) => claim.metadata.uid !== uid).length;
  if (nodeLimit(pool) - counts.total - others < 1) {
    return { noRoom: `limits.nodes of ${nodeLimit(pool)} leaves no room beside it` };
  }
  const blank = await blankClaim(deps, pool);
  if ('reason' in blank) return {};
  const { claims, typeLists } = claimPlans([blank], 0);
  return { successor: { replacements: claims, typeLists } };
}

type Terms = Pick<Extract<ExpirationView, { state: 'live' }>, 'mode' | 'beginAt' | 'mustGoAt' | 'leftAlone'>;

/** While the policy is invalid or only recommends, the node stays, even past its hard deadline. */
function termsOf(
  pool: NodePool | undefined,
  policies: readonly DisruptionPolicy[],
  { metadata }: NodeClaim,
  expiresAt: number,
): Terms {
  const { spec, invalid } = effectivePolicyOf(pool, policies);
  const leftAlone = whyOnlyRecommended(rulesOf(pool, policies)) ?? invalid;
  const life = { uid: metadata.uid ?? '', createdAt: Date.parse(metadata.creationTimestamp ?? ''), expiresAt };
  if (leftAlone === undefined) return { mode: spec.expiration.mode, ...expirationTimes(spec.expiration, life) };
  const { beginAt } = expirationTimes(defaultDisruptionPolicySpec.expiration, life);
  return { mode: 'ReplaceFirst', beginAt, leftAlone };
}
