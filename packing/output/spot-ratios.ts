import { labels } from '../../api/labels.js';
import type { Pool } from '../compile/pools.js';
import { ratioOf, runningShares, shareOut } from '../place/spot-share.js';
import { cheapestUnder } from './claims.js';
import type { ClaimContext } from './claim-context.js';
import type { OpenClaim } from '../place/open-claim.js';

/** Pins each claim of a pool with a spot ratio to spot or on-demand; other claims are unchanged. */
export function withSpotRatios(context: ClaimContext, claims: readonly OpenClaim[]): OpenClaim[] {
  const { compiled } = context;
  const bound = [...claims];
  if ((compiled.input.objects.disruptionPolicies ?? []).length === 0) return bound;
  for (const pool of compiled.pools) {
    const ratio = ratioOf(compiled, pool.object);
    if (ratio === undefined) continue;
    const own = indexesOf(context, claims, pool);
    const choices = own.map((i) => {
      const claim = claims[i]!;
      const zone = claim.pinnedKeys.has(labels.zone) ? compiled.universe.rows[claim.row]!.zone : undefined;
      const cores = (capacityType: string): number | undefined =>
        cheapestUnder(context, claim, capacityType)?.type.capacity['cpu'];
      return { pool: pool.name, zone, spot: cores('spot'), onDemand: cores('on-demand') };
    });
    const shares = shareOut(ratio, choices, runningShares(compiled, pool.name, ratio.perZone));
    own.forEach((i, k) => {
      bound[i] = { ...claims[i]!, capacityType: shares[k]! };
    });
  }
  return bound;
}

/** Indices of the pool's claims that are not on a reservation. */
function indexesOf({ compiled }: ClaimContext, claims: readonly OpenClaim[], pool: Pool): number[] {
  const own: number[] = [];
  claims.forEach(({ row }, i) => {
    const { profile } = compiled.universe.rows[row]!;
    if (profile.pool === pool && profile.reservation === undefined) own.push(i);
  });
  return own;
}
