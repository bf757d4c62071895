import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { expirationTerms } from '../../disruption/expiration/expiration-times.js';
import { rulesOf } from '../../disruption/policies/pool-rules.js';
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
  const terms = expirationTerms(pool, policies, claim, expiresAt);
  return {
    state: 'live',
    ...terms,
    ...(await successorOf(deps, pool, ref.uid)),
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
