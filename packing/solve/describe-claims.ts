import { minValuesRulesOf } from '../compile/min-values.js';
import { describeClaim, minValuesReserve } from '../output/claims.js';
import type { ClaimContext } from '../output/claim-context.js';
import { withSpotRatios } from '../output/spot-ratios.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { PlannedClaim } from '../types.js';
import type { WorkingPlan } from './working-plan.js';

/**
 * Describes the claims. Claims that cannot list enough different types are dropped (min-values/strict-and-best-effort).
 * Their pods may have kept a spread even, so the others are checked again then.
 */
export function describeClaims(working: WorkingPlan): PlannedClaim[] {
  for (;;) {
    const { made, refused } = describeOnce(working);
    if (refused.size === 0) return made;
    for (const claim of refused) refuse(working, claim);
    working.claims = working.claims.filter((claim) => !refused.has(claim));
    working.rebalance();
  }
}

function describeOnce(working: WorkingPlan): { made: PlannedClaim[]; refused: ReadonlySet<OpenClaim> } {
  const { compiled, feasibility, claims } = working;
  const limits = working.limits.map((limit) => ({ ...limit }));
  const context: ClaimContext = { compiled, feasibility, limits, described: working.described };
  const made: PlannedClaim[] = [];
  const refused = new Set<OpenClaim>();
  const bound = withSpotRatios(context, claims);
  const reserves = bound.map((claim, i) => {
    const reserve = isVaried(working, claim) ? minValuesReserve(context, claim) : [];
    if (reserve === undefined) refused.add(claims[i]!);
    reserve?.forEach((amount, l) => (limits[l]!.remaining -= amount));
    return reserve ?? [];
  });
  bound.forEach((claim, i) => {
    if (refused.has(claims[i]!)) return;
    reserves[i]!.forEach((amount, l) => (limits[l]!.remaining += amount));
    const described = describeClaim(context, claim);
    if (described === undefined) refused.add(claims[i]!);
    else made.push(described);
  });
  return { made, refused };
}

/** Whether both limits and minValues affect what the claim lists. */
function isVaried({ compiled, limits }: WorkingPlan, { row }: OpenClaim): boolean {
  const { pool } = compiled.universe.rows[row]!.profile;
  return limits.some((limit) => limit.pool === pool.name) && minValuesRulesOf(pool.requirements).length > 0;
}

function refuse(working: WorkingPlan, { row, members }: OpenClaim): void {
  const { profile } = working.compiled.universe.rows[row]!;
  working.charge(row, -1);
  working.topologyCounts.recordDaemons(profile, -1);
  const message = 'too few different instance types hold the pods for the minValues of the NodePool';
  for (const { podClass, level, pods } of members) {
    working.unplaced.add(podClass, pods);
    working.unplaced.because(podClass, { nodePool: profile.pool.name, reason: 'MinValues', message });
    working.uncount(profile, podClass, level, pods.length);
  }
}
